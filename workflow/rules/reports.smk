# Tables, figures, the page, and the findings.

# Results by the names that tables and figures need them by.
FILE_OF = {"models": "lr_curves"}
MADE = {*WIDE, *STATISTICS, "verdicts", "power"}
if CONTROLS in CHAPTERS:
    MADE.add("truth_controls")


def answered(kind):
    """Tables or figures whose results this run makes, each with their files."""
    files = {
        name: [FILE_OF.get(need, need) for need in part["more"]["needs"]]
        for name, part in PLAN.declared[kind].items()
    }
    return {name: needed for name, needed in files.items() if MADE.issuperset(needed)}


TABLES, FIGURES = answered("table"), answered("figure")
# Chapters that were not asked for and are not there, and the command that runs each.
NOT_RUN = {c: f"snakemake {c}" for c in EVERY_CHAPTER if c not in CHAPTERS}
# Settings of pretraining that a named network has to itself.
PRETRAINED = STUDY["pretraining"].get("of", {})
# Facts of the study for captions and the page.
FACTS = {
    "name": STUDY["name"],
    "recordings": list(SOURCES),
    "papers_task": STUDY["registrations"]["assume"]["task"],
    "statistics": STUDY["statistics"],
    "comparisons": STUDY["comparisons"],
    "tasks": {
        task: {k: v for k, v in spec.items() if not isinstance(v, dict)}
        for task, spec in STUDY["tasks"].items()
    },
    # A task's options are data, which no reader wants beside its name.
    "instances": {
        kind: STUDY.get(section, {}) for kind, section in SECTIONS.items() if kind != "task"
    },
    "pretraining": {
        network: PRETRAINED.get(network, {}).get("window", STUDY["pretraining"]["window"])
        for network in STUDY["networks"]
    },
}
# docs/findings.md of the default study, docs/findings-NAME.md of another; never asked for by `all`.
DEFAULT_STUDY = "simulated"
SUFFIX = "" if STUDY["name"] == DEFAULT_STUDY else f"-{STUDY['name']}"


rule tables:
    input:
        results=expand(
            "<results>/{name}.parquet",
            name=sorted({n for needed in TABLES.values() for n in needed}),
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
        facts=FACTS,
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
            name=sorted({n for needed in FIGURES.values() for n in needed}),
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
        facts=FACTS,
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
    log:
        "<logs>/page.log",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        figures=list(FIGURES),
        facts=FACTS,
        not_run=NOT_RUN,
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
        facts=FACTS,
        plugins=PLUGINS,
        code=code("orla.reports.findings", parts=[("table", name) for name in TABLES]),
    message:
        "Writing {output.findings}"
    script:
        "../scripts/findings.py"
