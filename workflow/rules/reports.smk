# Tables, figures and the page: ours beside the paper's.

TABLE_RESULTS = {
    "ratio_gap": ["ratio_gap", "ratio_gap_order"],
    "heldout": ["conditions"],
    "bci_gap": ["gaps"],
    "selection_price": ["selection_price"],
    "verdict": ["verdicts"],
}
FIGURE_RESULTS = {
    "horizon_gap": ["horizon_gaps"],
    "lr_curves": ["lr_curves"],
    "adaptation_traces": ["traces"],
    "tost_interval": ["gaps", "gap_seeds"],
}
TABLE_FILES = {
    table: expand("<results>/{name}.parquet", name=names) for table, names in TABLE_RESULTS.items()
}
FIGURE_FILES = {
    figure: expand("<results>/{name}.parquet", name=names)
    for figure, names in FIGURE_RESULTS.items()
}
PAGE_RESULTS = sorted({"heldout"}.union(*(TABLE_RESULTS | FIGURE_RESULTS).values()))
REPORT_FILES = [
    "<reports>/index.html",
    *expand("<reports>/table_{name}.{form}", name=TABLE_RESULTS, form=["tex", "csv"]),
    *expand("<reports>/figure_{name}.{form}", name=FIGURE_RESULTS, form=["pdf", "png"]),
]


rule table:
    input:
        results=lookup(dpath="{table}", within=TABLE_FILES),
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
    threads: 1
    resources:
        mem_mb=500,
    params:
        table="{table}",
    message:
        "Writing table {wildcards.table}"
    script:
        "../scripts/table.py"


rule figure:
    input:
        results=lookup(dpath="{figure}", within=FIGURE_FILES),
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
    threads: 1
    resources:
        mem_mb=1000,
    params:
        figure="{figure}",
    message:
        "Drawing figure {wildcards.figure}"
    script:
        "../scripts/figure.py"


rule page:
    input:
        results=expand("<results>/{name}.parquet", name=PAGE_RESULTS),
        tables=expand("<reports>/table_{name}.tex", name=TABLE_RESULTS),
        figures=expand("<reports>/figure_{name}.png", name=FIGURE_RESULTS),
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
        results=PAGE_RESULTS,
        figures=list(FIGURE_RESULTS),
    message:
        "Writing the page {output.html}"
    script:
        "../scripts/page.py"
