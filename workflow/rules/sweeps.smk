# Adaptation to session B: every condition's seeds times learning rates, all models in one job.

HORIZON_CONDITIONS = [
    c
    for c in CONDITIONS
    if c.split == config["horizons"]["split"] and c.learner in config["horizons"]["learners"]
]
SWEEPS = conditions.tree(
    {
        c.path: {
            "seeds": c.seeds,
            "learning_rates": config["grids"][c.optimizer][conditions.cadence(c.learner)],
            "horizons": config["horizons"]["steps"] if c in HORIZON_CONDITIONS else [],
        }
        for c in CONDITIONS
    }
)


rule sweep:
    input:
        streams="<results>/streams.npz",
        networks="<results>/pretraining/{architecture}/{precision}.safetensors",
    output:
        models="<results>/sweeps/{architecture}/{learner}/{optimizer}/{precision}/{split}.parquet",
        traces="<results>/sweeps/{architecture}/{learner}/{optimizer}/{precision}/{split}.npz",
        horizons="<results>/horizons/{architecture}/{learner}/{optimizer}/{precision}/{split}.parquet",
    log:
        "<logs>/sweeps/{architecture}/{learner}/{optimizer}/{precision}/{split}.log",
    benchmark:
        "<benchmarks>/sweeps/{architecture}/{learner}/{optimizer}/{precision}/{split}.tsv"
    threads: config["compute"]["threads"]
    resources:
        mem_mb=sweep_mb,
    params:
        sizes=lookup(dpath="{architecture}", within=config["architectures"]),
        condition=lookup(
            dpath="{architecture}/{learner}/{optimizer}/{precision}/{split}", within=SWEEPS
        ),
        grid_growth=config["grid_growth"],
        parts=config["parts"],
        compute=config["compute"],
    message:
        "Sweeping {wildcards.learner} with {wildcards.optimizer} ({wildcards.architecture}, {wildcards.precision}, {wildcards.split}), {params.condition[seeds]} seeds"
    script:
        "../scripts/sweep.py"


# Exact RTRL takes the longest by far: begun last, one of its jobs would be waited for alone.
use rule sweep as sweep_rtrl with:
    wildcard_constraints:
        learner="rtrl",
    priority: 1


ruleorder: sweep_rtrl > sweep
