# Truth controls: made-up studies with known answers, judged as the study is.
from orla.truth import worlds

TRUTH = STUDY["truth"]


rule truth_studies:
    output:
        models="<results>/truth/{world}.parquet",
    log:
        "<logs>/truth/{world}.log",
    threads: COMPUTE["threads"]
    resources:
        mem_mb=4000,
    params:
        truth=TRUTH,
        compute=COMPUTE,
        code=code("orla.truth.studies", parts=worlds.PARTS),
    message:
        "Making up {params.truth[studies]} {wildcards.world} studies"
    script:
        "../scripts/truth_studies.py"


rule truth_controls:
    input:
        models=expand("<results>/truth/{world}.parquet", world=worlds.WORLDS),
        study=["<results>/lr_curves.parquet", "<results>/estimates.parquet"],
    output:
        controls="<results>/truth_controls.parquet",
    log:
        "<logs>/truth_controls.log",
    resources:
        mem_mb=4000,
    params:
        truth=TRUTH,
        statistics=STUDY["statistics"],
        comparisons=STUDY["comparisons"],
        allow_mixed=ALLOW_MIXED,
        code=code("orla.truth.matched"),
    message:
        "Judging {params.truth[studies]} made-up studies of each kind"
    script:
        "../scripts/truth_controls.py"
