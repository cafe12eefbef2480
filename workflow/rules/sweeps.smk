# Adaptation: every condition's seeds times learning rates, all models in one job.

from orla.engine.asked_memory import job_mb

# A task without files has fewer inputs and outputs than this, and shorter streams than a recording.
MOST_INPUTS, MOST_STEPS = 128, 20_000


rule sweep:
    input:
        unpack(sweep_inputs),
    output:
        table="<results>/{condition}.parquet",
        traces="<results>/{condition}.npz",
    log:
        "<logs>/{condition}.log",
    benchmark:
        "<benchmarks>/{condition}.tsv"
    threads: config["compute"]["threads"]
    resources:
        mem_mb=sweep_mb,
    params:
        job=lambda w: JOBS[w.condition],
        compute=config["compute"],
        plugins=PLUGINS,
        code=lambda w: code(
            "orla.study.sweep",
            "orla.study.job",
            parts=[*parts_of(JOBS[w.condition], PLAN.declared), *LOSSES],
        ),
    message:
        "Sweeping {wildcards.condition}, {params.job[seeds]} seeds"
    script:
        "../scripts/sweep.py"


# Exact learners take the longest by far, so their jobs start first: a run would otherwise end with
# one of them alone.
use rule sweep as sweep_first with:
    wildcard_constraints:
        condition=one_of(path for path, c in CONDITIONS.items() if PLAN.exact(c.learner)),
    priority: 1


ruleorder: sweep_first > sweep
