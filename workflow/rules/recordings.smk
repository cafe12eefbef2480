# From recordings to the streams of each pair of sessions.


# A file that is there and has the right checksum stays whatever else of the config changes.
rule download:
    output:
        mat=update("<recordings>/{session}.mat"),
    log:
        "<logs>/download/{session}.log",
    resources:
        mem_mb=500,
    params:
        source=lambda w: next(
            STUDY["tasks"][pair["task"]].get("odoherty", {})
            for pair in PAIRS.values()
            if SOURCES[pair["task"]] == "odoherty" and w.session in (pair["a"], pair["b"])
        ),
    message:
        "Downloading {output.mat}"
    script:
        "../scripts/download.py"


# To NWB in SI units: from MATLAB files in the layout of O'Doherty et al., and from any NWB file
# with units and a SpatialSeries.
rule convert:
    input:
        recording=lambda w: file_of(w.task, w.session),
    output:
        nwb="<results>/{task}/sessions/{session}.nwb",
    log:
        "<logs>/convert/{task}/{session}.log",
    resources:
        mem_mb=recordings_mb("convert"),
    params:
        source=lambda w: SOURCES[w.task],
        settings=lambda w: STUDY["tasks"][w.task].get(SOURCES[w.task], {}),
        code=code("orla.sessions.mat_read", "orla.sessions.nwb"),
    message:
        "Reading {input.recording}"
    script:
        "../scripts/convert.py"


rule streams:
    input:
        unpack(session_files),
    output:
        streams="<results>/{domain}/streams.npz",
    log:
        "<logs>/streams/{domain}.log",
    resources:
        mem_mb=recordings_mb("streams"),
    params:
        task=lambda w: stream_settings(PLAN.task_settings(w.domain)),
        parts=lambda w: {k: v for k, v in PLAN.task_settings(w.domain).items() if k == "parts"},
        splits=splits_of,
        pair=lambda w: PAIRS[w.domain]["pair"],
        study=STUDY["name"],
        code=lambda w: code(
            "orla.study.simulated", parts=[("task", PLAN.task_settings(w.domain)["kind"])]
        ),
    message:
        "Making the streams of {wildcards.domain}"
    script:
        "../scripts/streams.py"
