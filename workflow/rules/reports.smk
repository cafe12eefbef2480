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
WORDED = ("name", "statistics", "comparisons", "tasks", "networks", "pretraining", "registrations")
CAPTIONED = {key: STUDY[key] for key in (*WORDED, *SECTIONS.values()) if key in STUDY}
# docs/findings.md of the default study, docs/findings-NAME.md of another; never asked for by `all`.
DEFAULT_STUDY = "simulated"
SUFFIX = "" if STUDY["name"] == DEFAULT_STUDY else f"-{STUDY['name']}"


rule tables:
    input:
        results=expand(
            "<results>/{name}.parquet",
            name=sorted({"verdicts"}.union(*TABLES.values())),
        ),
    output:
        report(
            expand("<reports>/table_{name}.{form}", name=TABLES, form=["tex", "csv"]),
            category="Tables",
            caption="../report/table.rst",
        ),
    log:
        "<logs>/tables.log",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        plugins=PLUGINS,
        code=code("orla.reports.table", parts=[("table", name) for name in TABLES]),
    message:
        "Writing the tables"
    script:
        "../scripts/tables.py"


rule figures:
    input:
        results=expand(
            "<results>/{name}.parquet",
            name=sorted({"verdicts"}.union(*FIGURES.values())),
        ),
    output:
        report(
            expand("<reports>/figure_{name}.{form}", name=FIGURES, form=["pdf", "png"]),
            category="Figures",
            caption="../report/figure.rst",
        ),
    log:
        "<logs>/figures.log",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        plugins=PLUGINS,
        code=code("orla.reports.style", parts=[("figure", name) for name in FIGURES]),
    message:
        "Drawing the figures"
    script:
        "../scripts/figures.py"


rule page:
    input:
        results=expand("<results>/{name}.parquet", name=sorted(MADE)),
        figures=expand("<reports>/figure_{name}.png", name=FIGURES),
    output:
        html=report(
            "<reports>/index.html",
            category="Page",
            labels={"page": "the study", "form": "HTML"},
            caption="../report/page.rst",
        ),
        text="<reports>/answer.txt",
    log:
        "<logs>/page.log",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        figures=list(FIGURES),
        study=CAPTIONED,
        unrun=UNRUN,
        plugins=PLUGINS,
        code=code(
            "orla.reports.page",
            parts=[*(("table", name) for name in TABLES), *(("figure", name) for name in FIGURES)],
        ),
    message:
        "Writing the page {output.html}"
    script:
        "../scripts/page.py"


rule findings:
    input:
        results=expand("<results>/{name}.parquet", name=sorted(MADE)),
    output:
        findings=f"docs/findings{SUFFIX}.md",
    log:
        "<logs>/findings.log",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        study=CAPTIONED,
        unrun=UNRUN,
        plugins=PLUGINS,
        code=code("orla.reports.findings", parts=[("table", name) for name in TABLES]),
    message:
        "Writing {output.findings}"
    script:
        "../scripts/page.py"
