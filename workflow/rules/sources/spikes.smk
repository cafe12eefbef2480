# From two NWB files of spike times and positions to two streams of bins.

SESSION_FILES = [
    "<results>/streams.npz",
    *expand("<results>/sessions/{name}.nwb", name=SESSIONS.values()),
]


rule streams:
    input:
        a=f"<results>/sessions/{SESSIONS['a']}.nwb",
        b=f"<results>/sessions/{SESSIONS['b']}.nwb",
    output:
        streams="<results>/streams.npz",
    log:
        "<logs>/streams.log",
    benchmark:
        "<benchmarks>/streams.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        preparation=config["preparation"],
        tail_steps=config["parts"]["tail_steps"],
        dataset=DATASET,
    message:
        "Binning {input.a} and {input.b}"
    script:
        "../../scripts/streams.py"
