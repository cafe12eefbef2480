# Networks pretrained on the first part of an episode: one a seed, in one job.

# Which loss an episode has stands in its file.
LOSSES = [("loss", name) for name in PLAN.declared["loss"]]

NETWORKS = {}
for condition in CONDITIONS.values():
    if PLAN.takes_pretrained(condition):
        spec = NETWORKS.setdefault(
            condition.networks,
            {
                "name": condition.architecture,
                "network": JOBS[condition.path]["network"],
                "seeds": 0,
                "episode": f"{condition.domain}/episodes/{condition.split}.npz",
                "precision": condition.precision,
            },
        )
        spec["seeds"] = max(spec["seeds"], condition.seeds)
# Batches of one size in all jobs, so that one compiled program serves all.
MOST = max((spec["seeds"] for spec in NETWORKS.values()), default=1)
BATCH = min(config["compute"]["batch_models"], MOST)


# All episodes of a domain have the same pretraining part; that of the first condition is used.
rule pretrain:
    input:
        episode=lambda w: f"{RESULTS}/{NETWORKS[w.networks]['episode']}",
    output:
        networks="<results>/{networks}.safetensors",
        curves="<results>/{networks}.parquet",
    log:
        "<logs>/{networks}.log",
    benchmark:
        "<benchmarks>/{networks}.tsv"
    wildcard_constraints:
        networks=one_of(NETWORKS),
    threads: config["compute"]["threads"]
    resources:
        mem_mb=4000,
    params:
        job=lambda w: NETWORKS[w.networks] | {"batch": BATCH},
        pretraining=lambda w: PLAN.pretraining(NETWORKS[w.networks]["name"]),
        compute=config["compute"],
        plugins=PLUGINS,
        code=lambda w: code(
            "orla.study.pretraining",
            parts=[*PLAN.pretrained_by(NETWORKS[w.networks]["name"]), *LOSSES],
        ),
    message:
        "Pretraining {params.job[seeds]} networks ({wildcards.networks})"
    script:
        "../scripts/pretrain.py"
