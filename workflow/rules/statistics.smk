# One table of all models, and the tables that compare learners.

# The part of the config that the models depend on, for the tables' provenance.
STUDY = {
    key: config[key]
    for key in ("preparation", "parts", "architectures", "pretraining", "grids", "compute")
}


rule models:
    input:
        models=expand("<results>/sweeps/{c.path}.parquet", c=CONDITIONS),
        traces=expand("<results>/sweeps/{c.path}.npz", c=CONDITIONS),
    output:
        heldout="<results>/heldout.parquet",
        lr_curves="<results>/lr_curves.parquet",
        traces="<results>/traces.parquet",
    log:
        "<logs>/models.log",
    benchmark:
        "<benchmarks>/models.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        conditions=len(CONDITIONS),
        study=STUDY,
    message:
        "Gathering the sweeps of {params.conditions} conditions"
    script:
        "../scripts/models.py"


rule horizons:
    input:
        models=expand("<results>/horizons/{c.path}.parquet", c=HORIZON_CONDITIONS),
    output:
        horizon="<results>/horizon.parquet",
    log:
        "<logs>/horizons.log",
    benchmark:
        "<benchmarks>/horizons.tsv"
    threads: 1
    resources:
        mem_mb=500,
    params:
        conditions=len(HORIZON_CONDITIONS),
        study=STUDY,
    message:
        "Gathering the horizons of {params.conditions} conditions"
    script:
        "../scripts/horizons.py"


rule statistics:
    input:
        lr_curves="<results>/lr_curves.parquet",
        horizon="<results>/horizon.parquet",
    output:
        conditions="<results>/conditions.parquet",
        gaps="<results>/gaps.parquet",
        gap_seeds="<results>/gap_seeds.parquet",
        selection_price="<results>/selection_price.parquet",
        ratio_gap="<results>/ratio_gap.parquet",
        ratio_gap_order="<results>/ratio_gap_order.parquet",
        horizon_gaps="<results>/horizon_gaps.parquet",
    log:
        "<logs>/statistics.log",
    benchmark:
        "<benchmarks>/statistics.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        statistics=config["statistics"],
    message:
        "Comparing learners over seeds"
    script:
        "../scripts/compare.py"
