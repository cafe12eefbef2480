# What each job is given: files, settings, code and memory. Rules stand in the other files.


def recording(task, pair, *keys):
    """A task's specification with one pair, its source and the settings under `keys`."""
    spec = STUDY["tasks"][task]
    shared = {k: spec[k] for k in ("kind", "source", spec["source"], *keys) if k in spec}
    return shared | {"pairs": {pair: spec["pairs"][pair]}}


def task_settings(w):
    """The specification of a stream's task; of a recording, with its own pair alone."""
    return settings_of(w.domain)


def settings_of(domain):
    task, pair = PLAN.domains[domain]
    return recording(task, pair, "preparation", "parts") if pair else STUDY["tasks"][task]


def task_code(w):
    """A hash of the code of a stream's task."""
    return ("task", STUDY["tasks"][PLAN.domains[w.domain][0]]["kind"])


def sessions_from(*sources):
    """(task, session) of every session that comes from these sources by files."""
    return sorted(
        {
            (pair["task"], pair[side])
            for domain, pair in PAIRS.items()
            if SOURCES[pair["task"]] in sources and not in_memory(domain)
            for side in "ab"
        }
    )


def in_memory(domain):
    """Whether a pair is simulated without files, as pairs are of a task that has several."""
    return SOURCES[PAIRS[domain]["task"]] == "simulated" and "/" in domain


def file_of(task, session):
    """The file of a session before any conversion."""
    if SOURCES[task] == "odoherty":
        return f"<recordings>/{session}.mat"
    if SOURCES[task] != "simulated":
        return STUDY["tasks"][task][SOURCES[task]]["files"][session]
    [(a, b)] = [(p["a"], p["b"]) for p in PAIRS.values() if p["task"] == task]
    return f"{RESULTS}/{task}/sessions/{a}+{b}/{session}.mat"


def session_files(w):
    """The two files from which a pair's streams are made."""
    pair = PAIRS[w.domain]
    if in_memory(w.domain):
        return {}
    if SOURCES[pair["task"]] == "binned":
        return {side: file_of(pair["task"], pair[side]) for side in "ab"}
    return {side: f"{RESULTS}/{pair['task']}/sessions/{pair[side]}.nwb" for side in "ab"}


def stream_settings(w):
    """What the streams depend on: binned ones on all parts, others on the tail alone."""
    spec = recording(PAIRS[w.domain]["task"], PAIRS[w.domain]["pair"], "preparation", "parts")
    if spec["source"] != "binned" and "parts" in spec:
        spec["parts"] = {k: v for k, v in spec["parts"].items() if k == "tail_steps"}
    return spec


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


# Results that tables, figures and registrations read.
WIDE = ["heldout", "lr_curves", "traces", "horizon", "alignment", "profile"]
STATISTICS = sorted(PLAN.declared["statistic"])
MADE = {*WIDE, *STATISTICS, "verdicts", "power"}
if CONTROLS in CHAPTERS:
    MADE.add("truth_controls")


def answered(kind):
    """Tables or figures whose results this run makes, each with their files."""
    files = {name: part["more"]["needs"] for name, part in PLAN.declared[kind].items()}
    return {name: needed for name, needed in files.items() if MADE.issuperset(needed)}
