# Truth controls: made-up studies with known answers, judged as the study is; and power.

from orla.truth.worlds import WORLDS

TRUTH = config["truth"]
# Studies of one world are made in several jobs.
CHUNKS = [
    list(range(TRUTH["studies"]))[i :: TRUTH["jobs"]]
    for i in range(min(TRUTH["jobs"], TRUTH["studies"]))
]


rule truth_studies:
    output:
        models="<results>/truth/{world}/{chunk}.parquet",
    log:
        "<logs>/truth/{world}/{chunk}.log",
    benchmark:
        "<benchmarks>/truth/{world}/{chunk}.tsv"
    wildcard_constraints:
        world=one_of(WORLDS),
        chunk=one_of(map(str, range(len(CHUNKS)))),
    threads: config["compute"]["threads"]
    resources:
        mem_mb=4000,
    params:
        studies=lambda w: CHUNKS[int(w.chunk)],
        truth=TRUTH,
        compute=config["compute"],
        code=code("orla.truth.studies"),
    message:
        "Making up {wildcards.world} studies, part {wildcards.chunk}"
    script:
        "../scripts/truth_studies.py"


rule truth_controls:
    input:
        models=expand(
            "<results>/truth/{world}/{chunk}.parquet", world=WORLDS, chunk=range(len(CHUNKS))
        ),
    output:
        controls="<results>/truth_controls.parquet",
    log:
        "<logs>/truth_controls.log",
    benchmark:
        "<benchmarks>/truth_controls.tsv"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        truth=TRUTH,
        statistics=config["statistics"],
        allow_mixed=config["provenance"]["allow_mixed"],
        code=code("orla.truth.verdicts"),
    message:
        "Judging {params.truth[studies]} made-up studies of each kind"
    script:
        "../scripts/truth_controls.py"


rule power:
    input:
        registrations=sorted(file for folder in FOLDERS for file in folder.glob("*.yaml")),
        tables=["<results>/over_pairs.parquet", "<results>/estimates.parquet"],
    output:
        power="<results>/power.parquet",
    log:
        "<logs>/power.log",
    benchmark:
        "<benchmarks>/power.tsv"
    threads: 1
    resources:
        mem_mb=500,
    params:
        study=config["name"],
        allow_mixed=config["provenance"]["allow_mixed"],
        code=code("orla.prereg.power"),
    message:
        "Power of the registrations"
    script:
        "../scripts/power.py"
