# Which files and settings each job is given. Functions alone: rules stand in the chapters.


def tasks_from(*sources):
    """Tasks whose sessions come from these sources."""
    return [task for task, source in SOURCES.items() if source in sources]


def pairs_from(*sources):
    """Domain -> pair of sessions, for tasks whose sessions come from these sources."""
    return {d: pair for d, pair in PAIRS.items() if SOURCES[pair["task"]] in sources}


def sessions_from(*sources):
    """(task, session) of every session that comes from these sources."""
    return sorted({(p["task"], p[s]) for p in pairs_from(*sources).values() for s in "ab"})


def recording(task, pair, *keep):
    """A task's specification with one pair, its source and the settings `keep`."""
    spec = config["tasks"][task]
    kept = {key: spec[key] for key in ("kind", "source", spec["source"], *keep) if key in spec}
    return kept | {"pairs": {pair: spec["pairs"][pair]}}


def file_of(task, session):
    """The file of a session before any conversion."""
    source = SOURCES[task]
    if source == "odoherty":
        return f"<recordings>/{session}.mat"
    if source == "simulated":
        return f"{RESULTS}/{task}/sessions/{session}.mat"
    return config["tasks"][task][source]["files"][session]


def session_files(wildcards):
    """The two files from which a pair's streams are made."""
    pair = PAIRS[wildcards.domain]
    if SOURCES[pair["task"]] == "binned":
        return {s: file_of(pair["task"], pair[s]) for s in "ab"}
    return {s: f"{RESULTS}/{pair['task']}/sessions/{pair[s]}.nwb" for s in "ab"}


def stream_settings(wildcards):
    """What the streams depend on: binned ones on all parts, others on the tail alone."""
    pair = PAIRS[wildcards.domain]
    spec = recording(pair["task"], pair["pair"], "preparation", "parts")
    if spec["source"] != "binned" and "parts" in spec:
        spec["parts"] = {k: v for k, v in spec["parts"].items() if k == "tail_steps"}
    return spec


def task_settings(wildcards):
    """The specification of a domain's task; of a recording, with its own pair alone."""
    task, pair = DOMAINS[wildcards.domain]
    return recording(task, pair, "preparation", "parts") if pair else config["tasks"][task]


def task_code(wildcards):
    """A hash of a task's code."""
    task, _ = DOMAINS[wildcards.domain]
    return code("orla.tasks.episode", parts=[("task", config["tasks"][task]["kind"])])


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
    with one_line():
        return attempt * job_mb(
            job,
            n_in=inputs,
            n_out=inputs,
            most=config["compute"]["batch_models"],
            device=config["compute"]["device"].partition(":")[0],
            **({} if recorded else {"steps": MOST_STEPS, "own_streams": job["seeds"]}),
        )
