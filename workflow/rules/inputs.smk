# What each job is given: files, settings, code and memory. Rules stand in the other files.


def recording(task, pair, *keys):
    """A task's specification with one pair, its source and the settings under `keys`."""
    spec = STUDY["tasks"][task]
    shared = {k: spec[k] for k in ("kind", "source", spec["source"], *keys) if k in spec}
    return shared | {"pairs": {pair: spec["pairs"][pair]}}


def settings_of(domain):
    """The specification of a stream's task; of a recording, with its own pair alone."""
    task, pair = PLAN.domains[domain]
    keys = ("recording", "step", "pool", "preparation", "parts")
    return recording(task, pair, *keys) if pair else STUDY["tasks"][task]


def stream_settings(w):
    """What the streams depend on: binned ones on all parts, others on the tail alone."""
    spec = settings_of(w.domain)
    if spec["source"] != "binned" and "parts" in spec:
        spec["parts"] = {k: v for k, v in spec["parts"].items() if k == "tail_steps"}
    return spec


def file_of(task, session):
    """The file of a session before any conversion."""
    if SOURCES[task] == "odoherty":
        return f"<recordings>/{session}.mat"
    if SOURCES[task] != "simulated":
        return STUDY["tasks"][task][SOURCES[task]]["files"][session]
    [(a, b)] = [(p["a"], p["b"]) for p in PAIRS.values() if p["task"] == task]
    return f"{RESULTS}/{task}/sessions/{a}+{b}/{session}.mat"


def session_files(w):
    """The two files from which a pair's streams are made.

    There are none of pairs that are simulated in memory, as those of a task with several are.
    """
    pair = PAIRS[w.domain]
    task, source = pair["task"], SOURCES[pair["task"]]
    if source == "simulated" and "/" in w.domain:
        return {}
    if source == "binned":
        return {side: file_of(task, pair[side]) for side in "ab"}
    return {side: f"{RESULTS}/{task}/sessions/{pair[side]}.nwb" for side in "ab"}


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


def code_on(w, module, parts):
    """A hash of a module, and of parts with a stream's task and the losses, one of which it names."""
    losses = [("loss", name) for name in PLAN.declared["loss"]]
    task = ("task", settings_of(w.domain)["kind"])
    return code(module, parts=sorted({*parts, *losses, task}))


def pretraining_code(w):
    return code_on(w, "orla.study.pretraining", PLAN.pretrained_by(w.network))


def adaptation_code(w):
    jobs = [PLAN.job(c) for c in part_of(w).conditions]
    parts = {part for job in jobs for part in parts_of(job, PLAN.declared)}
    return code_on(w, "orla.study.adaptation", parts)


def adaptation_mb(w, attempt):
    """What the memory model predicts of the largest condition, doubled after a killed job."""
    preparation = settings_of(w.domain).get("preparation", {})
    inputs = preparation.get("features", {}).get("count", MOST_INPUTS)
    with one_line():
        return attempt * max(
            job_mb(
                PLAN.job(c),
                n_in=inputs,
                n_out=inputs,
                models=COMPUTE["batch_models"],
                **({} if w.domain in PAIRS else {"steps": MOST_STEPS, "own_streams": c.seeds}),
            )
            for c in part_of(w).conditions
        )


# Results that tables, figures and registrations read.
WIDE = ["heldout", "lr_curves", "traces", "horizon", "alignment", "profile"]
STATISTICS = sorted(PLAN.declared["statistic"])
MADE = {*WIDE, *STATISTICS, "verdicts", "power"}
if CONTROLS in CHAPTERS:
    MADE.add("truth_controls")


def answered(kind):
    """Tables or figures whose results this run makes."""
    parts = PLAN.declared[kind].items()
    return [name for name, part in parts if MADE.issuperset(part["more"]["needs"])]
