# The recordings of O'Doherty, Cardoso, Makin and Sabes (doi 10.5281/zenodo.3854034).

MAT_FOLDER = "<recordings>"


# A file that is there and has the right checksum is kept whatever else of the config changes.
rule download:
    output:
        mat=update(f"{MAT_FOLDER}/{{session}}.mat"),
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
