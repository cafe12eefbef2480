# One table of all models, and the tables that compare learners.

# The part of the config that the models depend on, for the tables' provenance.
STUDY = {
    key: config[key]
    for key in ("tasks", "networks", "pretraining", "grids", "compute", "provenance")
}
STATISTICS = sorted(PLAN.declared["statistic"])
STATISTIC_PARTS = [("statistic", name) for name in STATISTICS]
# The learners that stand for full RTRL: those of the study that declare themselves exact.
EXACT = [*filter(PLAN.exact, dict.fromkeys(c.learner for c in CONDITIONS.values()))]


rule models:
    input:
        tables=expand("<results>/{path}.parquet", path=CONDITIONS),
        traces=expand("<results>/{path}.npz", path=CONDITIONS),
    output:
        heldout="<results>/heldout.parquet",
        lr_curves="<results>/lr_curves.parquet",
        traces="<results>/traces.parquet",
        horizon="<results>/horizon.parquet",
        alignment="<results>/alignment.parquet",
        profile="<results>/profile.parquet",
    log:
        "<logs>/models.log",
    benchmark:
        "<benchmarks>/models.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        conditions=len(CONDITIONS),
        expected=[job["keys"] for job in JOBS.values()],
        study=STUDY,
        exact=EXACT,
        code=code("orla.results.frames"),
    message:
        "Gathering the sweeps of {params.conditions} conditions"
    script:
        "../scripts/models.py"


rule statistics:
    input:
        lr_curves="<results>/lr_curves.parquet",
        horizon="<results>/horizon.parquet",
        alignment="<results>/alignment.parquet",
        profile="<results>/profile.parquet",
    output:
        expand("<results>/{name}.parquet", name=STATISTICS),
    log:
        "<logs>/statistics.log",
    benchmark:
        "<benchmarks>/statistics.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        statistics=config["statistics"],
        comparisons=config["comparisons"],
        quantities=config.get("quantities", {}),
        allow_mixed=config["provenance"]["allow_mixed"],
        plugins=PLUGINS,
        code=code("orla.results.base", parts=STATISTIC_PARTS),
    message:
        "Comparing learners over seeds"
    script:
        "../scripts/compare.py"
