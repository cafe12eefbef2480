# Two simulated sessions, written in the layout of the recordings.

MAT_FOLDER = "<results>/sessions"


rule simulate:
    output:
        a=f"{MAT_FOLDER}/{SESSIONS['a']}.mat",
        b=f"{MAT_FOLDER}/{SESSIONS['b']}.mat",
    log:
        "<logs>/simulate.log",
    benchmark:
        "<benchmarks>/simulate.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        settings=config["dataset"]["simulated"],
    message:
        "Simulating two sessions"
    script:
        "../../scripts/simulate.py"


include: "mat.smk"
