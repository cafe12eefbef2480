# Two recordings that come binned, without spike times, and so enter as streams.

SESSION_FILES = ["<results>/streams.npz"]


rule streams:
    input:
        a=config["dataset"]["binned"]["a"],
        b=config["dataset"]["binned"]["b"],
    output:
        streams="<results>/streams.npz",
    log:
        "<logs>/streams.log",
    benchmark:
        "<benchmarks>/streams.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        method=config["preparation"]["features"]["method"],
        n_inputs=config["preparation"]["features"]["count"],
        bin_s=config["preparation"]["bin_s"],
        parts=config["parts"],
        dataset=DATASET,
    message:
        "Reducing {input.a} and {input.b} to principal components"
    script:
        "../../scripts/binned_streams.py"
