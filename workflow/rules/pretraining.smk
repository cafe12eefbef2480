# Networks that know session A, before anything drifts: one a seed, all seeds in one job.

NETWORKS = conditions.networks(CONDITIONS)


rule pretrain:
    input:
        streams="<results>/streams.npz",
    output:
        networks="<results>/pretraining/{architecture}/{precision}.safetensors",
        curves="<results>/pretraining/{architecture}/{precision}.parquet",
    log:
        "<logs>/pretraining/{architecture}/{precision}.log",
    benchmark:
        "<benchmarks>/pretraining/{architecture}/{precision}.tsv"
    threads: config["compute"]["threads"]
    resources:
        mem_mb=4000,
    params:
        sizes=lookup(dpath="{architecture}", within=config["architectures"]),
        seeds=lookup(dpath="{architecture}/{precision}", within=conditions.tree(NETWORKS)),
        pretraining=config["pretraining"],
        parts=config["parts"],
        compute=config["compute"],
    message:
        "Pretraining {params.seeds} networks ({wildcards.architecture}, {wildcards.precision})"
    script:
        "../scripts/pretrain.py"
