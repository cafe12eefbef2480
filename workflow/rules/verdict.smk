# What was registered before the results, and what became of it.

REGISTERED = [
    "conditions",
    "gaps",
    "heldout",
    "horizon_gaps",
    "ratio_gap",
    "ratio_gap_order",
    "selection_price",
]


rule verdict:
    input:
        registrations=sorted(Path("prereg").glob("*.yaml")),
        amendments=sorted(Path("prereg/amendments").glob("*.yaml")),
        lock="prereg/LOCK",
        tables=expand("<results>/{table}.parquet", table=REGISTERED),
    output:
        verdicts="<results>/verdicts.parquet",
    log:
        "<logs>/verdict.log",
    benchmark:
        "<benchmarks>/verdict.tsv"
    threads: 1
    resources:
        mem_mb=500,
    params:
        tables=REGISTERED,
    message:
        "Judging the registrations"
    script:
        "../scripts/judge.py"
