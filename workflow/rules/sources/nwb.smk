# Any two NWB files with units and a two-dimensional SpatialSeries.

NWB_FILES = {name: config["dataset"]["nwb"][key] for key, name in SESSIONS.items()}


rule adopt:
    input:
        nwb=lookup(dpath="{session}", within=NWB_FILES),
    output:
        nwb="<results>/sessions/{session}.nwb",
    log:
        "<logs>/adopt/{session}.log",
    benchmark:
        "<benchmarks>/adopt/{session}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        cursor=config["dataset"]["nwb"]["cursor"],
        metres_per_unit=config["dataset"]["nwb"]["metres_per_unit"],
    message:
        "Reading {input.nwb}"
    script:
        "../../scripts/adopt.py"


include: "spikes.smk"
