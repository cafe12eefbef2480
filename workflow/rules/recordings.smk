# From recordings to the streams of each pair of sessions.

# A source that is left out is filled in with the default of the task's class.
SOURCES = {
    task: spec.setdefault("source", known["defaults"]["source"])
    for task, spec in config["tasks"].items()
    if (known := PLAN.declaration("task", task))["needs_files"]
}
PAIRS = {
    domain: config["tasks"][task]["pairs"][pair] | {"task": task, "pair": pair}
    for domain, (task, pair) in DOMAINS.items()
    if task in SOURCES
}


SESSION_FILES = [
    *(f"<results>/{task}/sessions/{session}.mat" for task, session in sessions_from("simulated")),
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
        code=code("orla.sessions.mat_read", "orla.sessions.nwb_write"),
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
