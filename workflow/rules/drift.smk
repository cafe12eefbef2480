# How far the sessions of each pair drift apart, before anything is trained.


rule drift:
    input:
        streams=[f"<results>/{domain}/streams.npz" for domain in DRIFTING],
        recordings=[file for domain in DRIFTING for file in recorded(domain)],
    output:
        table="<results>/drift_report.parquet",
    log:
        "<logs>/drift.log",
    resources:
        mem_mb=recordings_mb("drift"),
    params:
        pairs=[drift_of(domain) for domain in DRIFTING],
        files=[len(recorded(domain)) for domain in DRIFTING],
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
        code=code("orla.reports.page", "orla.reports.tables.drift"),
    message:
        "Writing the drift report {output.html}"
    script:
        "../scripts/reports.py"


rule inspect:
    input:
        rules.inspection.output,
