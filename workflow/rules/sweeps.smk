# Adaptation: every condition's seeds times learning rates, all models in one job.

from orla.engine.asked_memory import job_mb

# A task without files has fewer inputs and outputs than this, and shorter streams than a recording.
MOST_INPUTS, MOST_STEPS = 128, 20_000


def sweep_inputs(wildcards):
    """The episode of a condition, and its pretrained networks if its start needs any."""
    c = CONDITIONS[wildcards.condition]
    found = {"episode": f"{RESULTS}/{c.domain}/episodes/{c.split}.npz"}
    if PLAN.takes_pretrained(c):
        found["networks"] = f"{RESULTS}/{c.networks}.safetensors"
    return found


def sweep_mb(wildcards, attempt):
    """What the memory model predicts, doubled after a job that was killed."""
    c = CONDITIONS[wildcards.condition]
    job, recorded = JOBS[c.path], config["tasks"][c.task].get("preparation")
    inputs = recorded["features"]["count"] if recorded else MOST_INPUTS
    return attempt * job_mb(
        job["network"],
        job["learner"],
        job["optimizer"],
        n_in=inputs,
        n_out=inputs,
        most=config["compute"]["batch_models"],
        observers=job["observers"],
        interventions=job["interventions"],
        probes=job["probes"],
        device=config["compute"]["device"].partition(":")[0],
        precision=c.precision,
        snapshots=job["seeds"] * len(job["learning_rates"]) * len(job["horizons"]),
        **({} if recorded else {"steps": MOST_STEPS, "own_streams": job["seeds"]}),
    )


rule sweep:
    input:
        unpack(sweep_inputs),
    output:
        models="<results>/{condition}.parquet",
        traces="<results>/{condition}.npz",
        horizons="<results>/{condition}.horizons.parquet",
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
            parts=[*parts_of(JOBS[w.condition]), *LOSSES],
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
