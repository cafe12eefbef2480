# How far the sessions of each pair drift apart, before anything is trained.
DRIFTING = {}
for condition in CONDITIONS:
    if condition.domain in PAIRS and condition.split != STATIONARY:
        DRIFTING.setdefault(condition.domain, []).append(condition)


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
        "split": max({c.split for c in here}, key=splits_of(domain).get),
        "settings": settings_of(domain),
        "strides": {c.learner: PLAN.stride(c.learner) for c in here},
        # Registration -> why the config does not answer it; "" where it does.
        "registrations": {
            each.name: BINDINGS[each.name].get("refused", "")
            for each in REGISTERED
            if each.name in BINDINGS and {c.task for c in binding.conditions(PLAN, each)} == {pair["task"]}
        },
    }


def splits_of(domain):
    """The splits of a pair's session B: the share of it that each adapts to."""
    task, _ = PLAN.domains[domain]
    given = PLAN.option("task", task, "parts") or {}
    return (PLAN.declaration("task", task)["defaults"]["parts"] | given)["splits"]


rule drift:
    input:
        streams=[f"<results>/{domain}/streams.npz" for domain in DRIFTING],
        recordings=sorted({file for domain in DRIFTING for file in recorded(domain)}),
    output:
        table="<results>/drift_report.parquet",
    log:
        "<logs>/drift.log",
    resources:
        mem_mb=2000,
    params:
        pairs=[drift_of(domain) for domain in DRIFTING],
        files=[recorded(domain) for domain in DRIFTING],
        plugins=PLUGINS,
        code=code("orla.study.drift"),
    message:
        "Decoding each session by the other"
    script:
        "../scripts/drift.py"


# The drift report alone: as text, figure and page.
rule inspection:
    input:
        results=rules.drift.output,
    output:
        html="<reports>/sessions/index.html",
        text="<reports>/sessions/answer.txt",
        figures=expand("<reports>/sessions/figure_drift_report.{form}", form=["pdf", "png"]),
    log:
        "<logs>/inspection.log",
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        figures=["drift_report"],
        unrun={},
        plugins=PLUGINS,
        code=code("orla.reports.page", "orla.reports.sessions"),
    message:
        "Writing the drift report {output.html}"
    script:
        "../scripts/reports.py"


rule inspect:
    input:
        rules.inspection.output,
