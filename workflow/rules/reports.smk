# Tables, figures, the page, and the findings.

# Results by the names that tables and figures need them by.
FILE_OF = {"models": "lr_curves"}
TABLES, FIGURES = (
    {
        name: [FILE_OF.get(need, need) for need in part["more"]["needs"]]
        for name, part in PLAN.declared[kind].items()
    }
    for kind in ("table", "figure")
)
PAGE_RESULTS = sorted({"heldout"}.union(*(TABLES | FIGURES).values()))
REPORT_FILES = [
    "<reports>/index.html",
    *expand("<reports>/table_{name}.{form}", name=TABLES, form=["tex", "csv"]),
    *expand("<reports>/figure_{name}.{form}", name=FIGURES, form=["pdf", "png"]),
]
# Settings of pretraining that a named network has to itself.
PRETRAINED = config["pretraining"].get("of", {})
# Facts of the study for captions and the page.
FACTS = {
    "name": config["name"],
    "recordings": list(SOURCES),
    "papers_task": config["registrations"]["assume"]["task"],
    "statistics": config["statistics"],
    "comparisons": config["comparisons"],
    "tasks": {
        task: {k: v for k, v in spec.items() if not isinstance(v, dict)}
        for task, spec in config["tasks"].items()
    },
    # A task's options are data, which no reader wants beside its name.
    "instances": {
        kind: config.get(section, {}) for kind, section in SECTIONS.items() if kind != "task"
    },
    "pretraining": {
        network: PRETRAINED.get(network, {}).get("window", config["pretraining"]["window"])
        for network in config["networks"]
    },
}


rule table:
    input:
        results=lambda w: [f"{RESULTS}/{name}.parquet" for name in TABLES[w.table]],
    output:
        tex=report(
            "<reports>/table_{table}.tex",
            category="Tables",
            labels={"table": "{table}", "form": "LaTeX"},
            caption="../report/table.rst",
        ),
        csv=report(
            "<reports>/table_{table}.csv",
            category="Tables",
            labels={"table": "{table}", "form": "CSV"},
            caption="../report/table.rst",
        ),
    log:
        "<logs>/tables/{table}.log",
    benchmark:
        "<benchmarks>/tables/{table}.tsv"
    wildcard_constraints:
        table=one_of(TABLES),
    threads: 1
    resources:
        mem_mb=500,
    params:
        facts=FACTS,
        plugins=PLUGINS,
        code=lambda w: code("orla.reports.table", parts=[("table", w.table)]),
    message:
        "Writing table {wildcards.table}"
    script:
        "../scripts/table.py"


rule figure:
    input:
        results=lambda w: [f"{RESULTS}/{name}.parquet" for name in FIGURES[w.figure]],
    output:
        pdf=report(
            "<reports>/figure_{figure}.pdf",
            category="Figures",
            labels={"figure": "{figure}", "form": "PDF"},
            caption="../report/figure.rst",
        ),
        png=report(
            "<reports>/figure_{figure}.png",
            category="Figures",
            labels={"figure": "{figure}", "form": "PNG"},
            caption="../report/figure.rst",
        ),
    log:
        "<logs>/figures/{figure}.log",
    benchmark:
        "<benchmarks>/figures/{figure}.tsv"
    wildcard_constraints:
        figure=one_of(FIGURES),
    threads: 1
    resources:
        mem_mb=1000,
    params:
        facts=FACTS,
        plugins=PLUGINS,
        code=lambda w: code("orla.reports.style", parts=[("figure", w.figure)]),
    message:
        "Drawing figure {wildcards.figure}"
    script:
        "../scripts/figure.py"


rule page:
    input:
        results=expand("<results>/{name}.parquet", name=PAGE_RESULTS),
        tables=expand("<reports>/table_{name}.tex", name=TABLES),
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
    benchmark:
        "<benchmarks>/page.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        figures=list(FIGURES),
        facts=FACTS,
        plugins=PLUGINS,
        code=code(
            "orla.reports.page",
            parts=[*(("table", t) for t in TABLES), *(("figure", f) for f in FIGURES)],
        ),
    message:
        "Writing the page {output.html}"
    script:
        "../scripts/page.py"


# docs/findings.md of the default study, docs/findings-NAME.md of another; never asked for by `all`.
DEFAULT_STUDY = "simulated"
FINDINGS = "docs/findings.md"
if config["name"] != DEFAULT_STUDY:
    FINDINGS = f"docs/findings-{config['name']}.md"


rule findings:
    input:
        results=expand("<results>/{name}.parquet", name=PAGE_RESULTS),
    output:
        findings=FINDINGS,
    log:
        "<logs>/findings.log",
    benchmark:
        "<benchmarks>/findings.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        facts=FACTS,
        plugins=PLUGINS,
        code=code("orla.reports.findings"),
    message:
        "Writing {output.findings}"
    script:
        "../scripts/findings.py"
