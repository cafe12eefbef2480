# What each job is given: files, settings, code and memory. Rules stand in the other files.


def splits_of(w):
    """The splits of a stream that are run, and the horizons at which models of each are scored."""
    horizons = {}
    for c in PLAN.conditions:
        if c.domain == w.domain:
            horizons.setdefault(c.split, set()).update(PLAN.adapt_horizons(c))
    return {split: sorted(horizons[split]) for split in sorted(horizons)}


def file_of(task, session):
    """The file of a session before any conversion."""
    if SOURCES[task] == "odoherty":
        return f"<recordings>/{session}.mat"
    return STUDY["tasks"][task][SOURCES[task]]["files"][session]


def session_files(w):
    """The two files from which a pair's streams are made; none of a pair that is simulated."""
    pair = PAIRS[w.domain]
    task, source = pair["task"], SOURCES[pair["task"]]
    if source == "simulated":
        return {}
    if source == "binned":
        return {side: file_of(task, pair[side]) for side in "ab"}
    return {side: f"{RESULTS}/{task}/sessions/{pair[side]}.nwb" for side in "ab"}


# A task without files has fewer inputs and outputs than this, and most have shorter streams.
MOST_INPUTS, MOST_STEPS = 128, 20_000
# Networks (their path) -> the parts that start from them.
STARTED = {}
for part in PLAN.condition_groups:
    if any(PLAN.takes_pretrained(c) for c in part.conditions):
        STARTED.setdefault(part.conditions[0].networks_path, []).append(part)


# One condition for each loop that is compiled: of a task, network, learner, optimizer and so on.
LOOP_OF = ("task", "architecture", "learner", "optimizer", "precision", "intervention")
# Those of other numerics are compiled in the jobs that run them, whose processes are set up for it.
COMPILED = {}
for condition in (c for c in CONDITIONS if PLAN.compute_settings(c.precision) == COMPUTE):
    loop = [getattr(condition, name) for name in (*LOOP_OF, "observers", "probes")]
    COMPILED.setdefault(str(loop), condition)


def part_of(w):
    """The part that a job adapts."""
    path = f"{w.domain}/adaptation/{w.network}/{w.precision}/{w.part}"
    if path not in PARTS:
        raise OrlaError(f"{path}: no part of this study; ask for a chapter, or one of its reports")
    return PARTS[path]


def streams_of(w):
    """The streams of a pair of sessions, or the files that a task reads; others draw in each job."""
    if w.domain in PAIRS:
        return {"streams": f"{RESULTS}/{w.domain}/streams.npz"}
    return task_files(w)


def task_files(w):
    """The files that options of a stream's task name, by default too."""
    task, _ = PLAN.domains[w.domain]
    options = PLAN.declaration("task", task)["files"]
    return {"files": [*filter(None, (PLAN.option("task", task, name) for name in options))]}


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
        "settings": PLAN.pretraining_settings(w.network),
        "parts": PLAN.pretraining_dependencies(w.network),
        **PLAN.format_entry(w.precision),
    }


def compute_of(w):
    """The settings of computation of a job."""
    return PLAN.compute_settings(w.precision)


# Of every stream its most seeds, for which a synthetic task draws one each.
SEEDS = {}
for c in PLAN.conditions:
    SEEDS[c.domain] = max(c.seeds, SEEDS.get(c.domain, 0))


def code_on(w, module, parts):
    """A hash of a module, and of parts with a stream's task and the losses, one of which it names."""
    losses = [("loss", name) for name in PLAN.declarations["loss"]]
    task = ("task", PLAN.task_settings(w.domain)["kind"])
    return code(module, parts=sorted({*parts, *losses, task}))


def pretraining_code(w):
    return code_on(w, "orla.study.pretraining", PLAN.pretraining_dependencies(w.network))


def adaptation_code(w):
    jobs = [PLAN.job(c) for c in part_of(w).conditions]
    parts = {part for job in jobs for part in job_parts(job, PLAN.declarations)}
    return code_on(w, "orla.study.adaptation", parts)


def steps_of(condition):
    """Steps of a stream that a task draws, or as many as most have."""
    parts = (PLAN.option("task", condition.task, name) or 0 for name in ("adapt", "heldout"))
    return max(MOST_STEPS, sum(parts))


def adaptation_mb(w, attempt):
    """What the memory model predicts of the largest condition, doubled after a killed job."""
    preparation = PLAN.task_settings(w.domain).get("preparation", {})
    inputs = preparation.get("features", {}).get("count", MOST_INPUTS)
    with exit_in_one_line():
        return min(attempt, 2) * max(
            job_mb(
                PLAN.job(c),
                n_in=inputs,
                n_out=inputs,
                models=compute_of(w)["batch_models"],
                **({} if w.domain in PAIRS else {"steps": steps_of(c), "own_streams": c.seeds}),
            )
            for c in part_of(w).conditions
        )


@cache
def foreseen():
    """The forecast of this study."""
    return Forecast(PLAN, session_lengths(PLAN))


@cache
def cpu_s(part):
    """CPU seconds that a job of adaptation is expected to take."""
    return foreseen().adaptation_cpu_s(part.conditions, pretrains=False)


@cache
def longest_s():
    """CPU seconds of the longest job of this run."""
    return max(map(cpu_s, RUN))


def share_of_longest(w):
    """The priority of a job of adaptation: its expected time over the longest one's."""
    return cpu_s(part_of(w)) / longest_s()


# Results that tables, figures and registrations read.
WIDE = ["heldout", "lr_curves", "traces", "horizon", "alignment", "profile"]
STATISTICS = sorted(PLAN.declarations["statistic"])
MADE = ({*WIDE, *STATISTICS} if CONDITIONS else set()) | {"verdicts", "power"}
if STUDY.get("vision"):
    MADE.add("tta")
# Folder of a stream on which River's models are run -> on how many seeds the most are.
PEERED = {
    c.domain: max(peers.values())
    for c in CONDITIONS
    if (peers := PLAN.task_settings(c.domain).get("peers"))
}
if PEERED:
    MADE |= {"peers", "speed"}
if "language" in STUDY:
    MADE |= {"language", "language_norms"}


LANGUAGE = STUDY.get("language", {})
with exit_in_one_line():
    ADAPTED = language_jobs(STUDY)


def language_model(w):
    """The folder of a model that is pretrained here; the files of one that the user has."""
    model = LANGUAGE["models"][w.model]
    made = f"{RESULTS}/language/{w.model}/pretrained"
    return {"folder": made} if "make" in model else {"files": language_files(model)}


def adapted_of(w):
    """What the job of a language model and rank is given."""
    return ADAPTED[f"language/{w.model}/rank-{w.rank}"]


def tent_parts(w):
    """The optimizer of a way to adapt to images, as a part."""
    spec = TENT[w.adapts, w.optimizer]
    return [("optimizer", spec["kind"])] if spec else []


def probe_of(w):
    """The probe by which networks on a stream are measured, and so River's models."""
    specs = [PLAN.spec("probe", p) for c in CONDITIONS if c.domain == w.domain for p in c.probes]
    return next((s for s in specs if s["kind"] == "prequential"), {"kind": "prequential"})


# Folder of the streams -> the conditions whose part to adapt to drifts.
DRIFTING = {}
for condition in CONDITIONS:
    if condition.domain in PAIRS and condition.split != STATIONARY:
        DRIFTING.setdefault(condition.domain, []).append(condition)
MADE |= {"drift_report"} if DRIFTING else set()
MADE |= {"truth_controls"} if CONTROLS in CHAPTERS else set()


def answered(kind):
    """Tables or figures whose results this run makes."""
    parts = PLAN.declarations[kind].items()
    return [name for name, part in parts if MADE.issuperset(part["more"]["needs"])]


def recorded(domain):
    """The files that a pair's sessions were recorded in; none where they are made or downloaded."""
    pair = PAIRS[domain]
    known = SOURCES[pair["task"]] in ("nwb", "binned")
    return [file_of(pair["task"], pair[side]) for side in "ab"] if known else []


def drift_of(domain):
    """What the drift report is given of a pair: its settings, and what the study would do on it."""
    pair, here = PAIRS[domain], DRIFTING[domain]
    return {
        "domain": domain,
        "task": pair["task"],
        "pair": pair["pair"],
        "sessions": [pair["a"], pair["b"]],
        "split": max({c.split for c in here}, key=PLAN.parts_settings(pair["task"])["splits"].get),
        "settings": PLAN.task_settings(domain),
        "strides": {c.learner: PLAN.stride(c.learner) for c in here},
        # Registration -> why the config does not answer it; "" where it does.
        "registrations": {
            each.name: BINDINGS[each.name].get("refused", "")
            for each in REGISTERED
            if each.name in BINDINGS
            and {c.task for c in demands.compared_conditions(PLAN, each)} == {pair["task"]}
        },
    }
