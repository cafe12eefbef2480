# From recordings to the streams of each pair of sessions.

SOURCES = {
    task: spec["source"]
    for task, spec in config["tasks"].items()
    if PLAN.declaration("task", task)["needs_files"]
}
PAIRS = {
    domain: config["tasks"][task]["pairs"][pair] | {"task": task, "pair": pair}
    for domain, (task, pair) in DOMAINS.items()
    if task in SOURCES
}


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


SESSION_FILES = [
    *(f"<results>/{domain}/streams.npz" for domain in PAIRS),
    *(
        f"<results>/{task}/sessions/{session}.nwb"
        for task, session in sessions_from("simulated", "odoherty", "nwb")
    ),
]

for domain, pair in pairs_from("simulated").items():

    rule:
        name:
            f"simulate_{re.sub('[^A-Za-z0-9]', '_', domain)}"
        output:
            a=f"<results>/{pair['task']}/sessions/{pair['a']}.mat",
            b=f"<results>/{pair['task']}/sessions/{pair['b']}.mat",
        log:
            f"<logs>/simulate/{domain}.log",
        benchmark:
            f"<benchmarks>/simulate/{domain}.tsv"
        threads: 1
        resources:
            mem_mb=2000,
        params:
            task=recording(pair["task"], pair["pair"]),
            pair=pair["pair"],
            code=code("orla.sessions.simulator"),
        message:
            "Simulating {output.a} and {output.b}"
        script:
            "../scripts/simulate.py"


if tasks_from("odoherty"):

    # A file that is there and has the right checksum is kept whatever else of the config changes.
    rule download:
        output:
            mat=update("<recordings>/{session}.mat"),
        log:
            "<logs>/download/{session}.log",
        benchmark:
            "<benchmarks>/download/{session}.tsv"
        threads: 1
        resources:
            mem_mb=500,
        params:
            source=config["tasks"][tasks_from("odoherty")[0]].get("odoherty", {}),
        message:
            "Downloading {output.mat}"
        script:
            "../scripts/download.py"


# From MATLAB files in the layout of O'Doherty et al. to NWB.
rule convert:
    input:
        recording=lambda w: file_of(w.task, w.session),
    output:
        nwb="<results>/{task}/sessions/{session}.nwb",
    log:
        "<logs>/convert/{task}/{session}.log",
    benchmark:
        "<benchmarks>/convert/{task}/{session}.tsv"
    wildcard_constraints:
        task=one_of(tasks_from("simulated", "odoherty")),
        session="[^/]+",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        source=lambda w: SOURCES[w.task],
        settings=lambda w: config["tasks"][w.task].get("odoherty", {}),
        code=code("orla.sessions.matfile"),
    message:
        "Converting {input.recording} to NWB"
    script:
        "../scripts/convert.py"


# From any NWB file with units and a SpatialSeries to NWB in SI units.
use rule convert as adopt with:
    log:
        "<logs>/adopt/{task}/{session}.log",
    benchmark:
        "<benchmarks>/adopt/{task}/{session}.tsv"
    wildcard_constraints:
        task=one_of(tasks_from("nwb")),
        session="[^/]+",
    resources:
        mem_mb=2000,
    params:
        source="nwb",
        settings=lambda w: config["tasks"][w.task]["nwb"],
        code=code("orla.sessions.nwb"),
    message:
        "Reading {input.recording}"


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
    if spec["source"] != "binned":
        spec["parts"] = {k: v for k, v in spec["parts"].items() if k == "tail_steps"}
    return spec


rule streams:
    input:
        unpack(session_files),
    output:
        streams="<results>/{domain}/streams.npz",
    log:
        "<logs>/streams/{domain}.log",
    benchmark:
        "<benchmarks>/streams/{domain}.tsv"
    wildcard_constraints:
        domain=one_of(PAIRS),
    threads: 1
    resources:
        mem_mb=2000,
    params:
        task=stream_settings,
        pair=lambda w: PAIRS[w.domain]["pair"],
        study=config["name"],
        code=code("orla.tasks.recordings"),
    message:
        "Binning {input.a} and {input.b}"
    script:
        "../scripts/streams.py"
