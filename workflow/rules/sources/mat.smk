# From MATLAB files in the layout of O'Doherty et al. to NWB.


rule convert:
    input:
        mat=f"{MAT_FOLDER}/{{session}}.mat",
    output:
        nwb="<results>/sessions/{session}.nwb",
    log:
        "<logs>/convert/{session}.log",
    benchmark:
        "<benchmarks>/convert/{session}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        label=DATASET["label"],
        spikes_outside=config["dataset"]["odoherty"]["spikes_outside"],
    message:
        "Converting {input.mat} to NWB"
    script:
        "../../scripts/convert.py"


include: "spikes.smk"
