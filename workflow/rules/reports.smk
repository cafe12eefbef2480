# Tables, figures, the page, and the findings.

TABLES, FIGURES = answered("table"), answered("figure")
# Chapters that were not asked for and are not there, and the command that runs each.
TITLES = {
    "headline": "Headline",
    "pairs": "Over pairs of sessions",
    "choices": "Every choice",
    CONTROLS: "Made-up studies with a known answer",
}
UNRUN = {TITLES[c]: f"snakemake {c}" for c in EVERY_CHAPTER if c not in CHAPTERS}
# The part of the config that names and captions come from.
WORDED = ("name", "numerics", "statistics", "comparisons", "tasks", "networks", "pretraining")
WORDED += ("conditions",)
CAPTIONED = {key: STUDY[key] for key in (*WORDED, *SECTIONS.values()) if key in STUDY}
# docs/findings.md of the default study, docs/findings-NAME.md of another; never asked for by `all`.
DEFAULT_STUDY = "simulated"
SUFFIX = "" if STUDY["name"] == DEFAULT_STUDY else f"-{STUDY['name']}"


rule reports:
    input:
        results=expand("<results>/{name}.parquet", name=sorted(MADE)),
    output:
        report(
            expand("<reports>/table_{name}.{form}", name=TABLES, form=["tex", "csv"]),
            category="Tables",
            caption="../report/part.rst",
        ),
        report(
            expand("<reports>/figure_{name}.{form}", name=FIGURES, form=["pdf", "png"]),
            category="Figures",
            caption="../report/part.rst",
        ),
        html=report(
            "<reports>/index.html",
            category="Page",
            labels={"page": "the study", "form": "HTML"},
            caption="../report/page.rst",
        ),
        text="<reports>/answer.txt",
    log:
        "<logs>/reports.log",
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        figures=FIGURES,
        unrun=UNRUN,
        plugins=PLUGINS,
        code=code(
            "orla.reports.page",
            parts=[*(("table", name) for name in TABLES), *(("figure", name) for name in FIGURES)],
        ),
    message:
        "Writing tables, figures and the page {output.html}"
    script:
        "../scripts/reports.py"


rule findings:
    input:
        results=rules.reports.input.results,
    output:
        findings=f"docs/findings{SUFFIX}.md",
    log:
        "<logs>/findings.log",
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        unrun=UNRUN,
        plugins=PLUGINS,
        code=code("orla.reports.page", parts=[("table", name) for name in TABLES]),
    message:
        "Writing {output.findings}"
    script:
        "../scripts/reports.py"
