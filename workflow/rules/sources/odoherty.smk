# The recordings of O'Doherty, Cardoso, Makin and Sabes (doi 10.5281/zenodo.3854034).

MAT_FOLDER = "<recordings>"


rule download:
    output:
        mat=protected(f"{MAT_FOLDER}/{{session}}.mat"),
    log:
        "<logs>/download/{session}.log",
    benchmark:
        "<benchmarks>/download/{session}.tsv"
    threads: 1
    resources:
        mem_mb=500,
    params:
        source=config["dataset"]["odoherty"],
    message:
        "Downloading {output.mat}"
    script:
        "../../scripts/download.py"


include: "mat.smk"
