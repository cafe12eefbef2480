# Pretraining and adaptation. A job adapts all conditions of one chapter on one stream and split;
# it writes each when it is done, and leaves out one whose kept result is of what is asked.

# Which loss an episode has stands in its task.
LOSSES = [("loss", name) for name in PLAN.declared["loss"]]
# A task without files has fewer inputs and outputs than this, and shorter streams than a recording.
MOST_INPUTS, MOST_STEPS = 128, 20_000
# Networks (their path) -> the parts that start from them.
STARTED = {}
for part in PLAN.parts:
    if any(PLAN.takes_pretrained(c) for c in part.conditions):
        STARTED.setdefault(part.conditions[0].networks, []).append(part)


# One condition for each loop that is compiled: of a task, network, learner, optimizer and so on.
LOOP_OF = ("task", "architecture", "learner", "optimizer", "precision", "intervention")
COMPILED = {}
for condition in CONDITIONS:
    loop = [getattr(condition, name) for name in (*LOOP_OF, "observers", "probes")]
    COMPILED.setdefault(str(loop), condition)


def part_of(w):
    """The part that a job adapts."""
    path = f"{w.domain}/adaptation/{w.network}/{w.precision}/{w.part}"
    if path not in PARTS:
        raise OrlaError(f"{path}: no part of this study; ask for a chapter, or one of its reports")
    return PARTS[path]


def streams_of(w):
    """The streams of a pair of sessions; synthetic tasks draw theirs in each job."""
    return {"streams": f"{RESULTS}/{w.domain}/streams.npz"} if w.domain in PAIRS else {}


def networks_of(w):
    """The pretrained networks of a part that are another job's, because several parts share them."""
    networks = f"{w.domain}/pretraining/{w.network}/{w.precision}"
    shared = len(STARTED.get(networks, ())) > 1 and part_of(w) in STARTED[networks]
    return {"networks": f"{RESULTS}/{networks}.safetensors"} if shared else {}


def pretraining_of(w):
    """What the networks of a stream are pretrained by: {} for a start without pretraining."""
    parts = STARTED.get(f"{w.domain}/pretraining/{w.network}/{w.precision}", ())
    started = [c for part in parts for c in part.conditions if PLAN.takes_pretrained(c)]
    if not started:
        return {}
    return {
        "network": PLAN.spec("architecture", w.network),
        "name": w.network,
        "precision": w.precision,
        "seeds": max(c.seeds for c in started),
        "split": started[0].split,
        "settings": PLAN.pretraining(w.network),
        "parts": PLAN.pretrained_by(w.network),
    }


def seeds_of(w):
    """Streams that a synthetic task draws: one a seed."""
    return max(c.seeds for c in PLAN.conditions if c.domain == w.domain)


def pretraining_code(w):
    """The modules and parts that pretraining depends on."""
    parts = [*PLAN.pretrained_by(w.network), *LOSSES, task_code(w)]
    return code("orla.study.pretraining", "orla.tasks.episode", parts=sorted(set(parts)))


def adaptation_code(w):
    """The modules and parts that a job's conditions depend on."""
    jobs = [PLAN.job(c) for c in part_of(w).conditions]
    parts = {part for job in jobs for part in parts_of(job, PLAN.declared)}
    return code("orla.study.adaptation", parts=sorted({*parts, *LOSSES, task_code(w)}))


def adaptation_mb(w, attempt):
    """What the memory model predicts of the largest condition, doubled after a killed job."""
    part = part_of(w)
    recorded = (
        STUDY["tasks"][part.conditions[0].task].get("preparation") if w.domain in PAIRS else 0
    )
    inputs = recorded["features"]["count"] if recorded else MOST_INPUTS
    own = {} if recorded else {"steps": MOST_STEPS}
    with one_line():
        return attempt * max(
            job_mb(
                PLAN.job(c),
                n_in=inputs,
                n_out=inputs,
                most=COMPUTE["batch_models"],
                device=COMPUTE["device"].partition(":")[0],
                **(own | ({} if recorded else {"own_streams": c.seeds})),
            )
            for c in part.conditions
        )


# The programs of all conditions, compiled beside the pretraining that these wait for. A job that
# comes first makes what it needs itself; two never make the same one.
rule programs:
    input:
        [
            f"<results>/{domain}/streams.npz"
            for domain in sorted({c.domain for c in COMPILED.values() if c.domain in PAIRS})
        ],
    output:
        programs="<results>/programs.txt",
    log:
        "<logs>/programs.log",
    threads: COMPUTE["threads"]
    resources:
        mem_mb=4000,
    params:
        # Task, folder of the streams or "", and job of one condition for each program.
        conditions=[
            (
                settings_of(c.domain),
                f"{RESULTS}/{c.domain}/streams.npz" if c.domain in PAIRS else "",
                PLAN.job(c) | {"seeds": 1},
            )
            for c in COMPILED.values()
        ],
        compute=COMPUTE,
        plugins=PLUGINS,
    message:
        "Compiling the loops of all conditions"
    script:
        "../scripts/programs.py"


rule pretrain:
    input:
        unpack(streams_of),
    output:
        networks="<results>/{domain}/pretraining/{network}/{precision}.safetensors",
        curves="<results>/{domain}/pretraining/{network}/{precision}.parquet",
    log:
        "<logs>/{domain}/pretraining/{network}/{precision}.log",
    threads: COMPUTE["threads"]
    resources:
        mem_mb=4000,
    params:
        task=task_settings,
        episodes=seeds_of,
        pretraining=pretraining_of,
        compute=COMPUTE,
        plugins=PLUGINS,
        code=pretraining_code,
    message:
        "Pretraining {params.pretraining[seeds]} networks ({wildcards.network} on"
        " {wildcards.domain})"
    script:
        "../scripts/pretrain.py"


rule adapt:
    input:
        unpack(streams_of),
        unpack(networks_of),
    output:
        table="<results>/{domain}/adaptation/{network}/{precision}/{part}.parquet",
        traces="<results>/{domain}/adaptation/{network}/{precision}/{part}.npz",
    log:
        "<logs>/{domain}/adaptation/{network}/{precision}/{part}.log",
    # The longest jobs start first: a run would otherwise end with one of them alone.
    priority: 1
    threads: COMPUTE["threads"]
    resources:
        mem_mb=adaptation_mb,
    params:
        task=task_settings,
        episodes=seeds_of,
        pretraining=pretraining_of,
        networks=lambda w: f"{RESULTS}/{w.domain}/pretraining/{w.network}/{w.precision}.safetensors",
        jobs=lambda w: [PLAN.job(c) for c in part_of(w).conditions],
        paths=lambda w: [f"{RESULTS}/{c.path}" for c in part_of(w).conditions],
        compute=COMPUTE,
        plugins=PLUGINS,
        code=adaptation_code,
    message:
        "Adapting {wildcards.network} to {wildcards.domain}, {wildcards.part}"
    script:
        "../scripts/adapt.py"
