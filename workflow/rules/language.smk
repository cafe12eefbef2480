# Language models: those that are made are pretrained, then each is adapted in a job a rank.
rule language_pretraining:
    output:
        model=directory("<results>/language/{model}/pretrained"),
    log:
        "<logs>/language/{model}/pretraining.log",
    resources:
        mem_mb=2000,
    params:
        make=lambda w: LANGUAGE["models"][w.model]["make"],
        settings={key: LANGUAGE[key] for key in ("texts", "shares", "pretraining") if LANGUAGE},
        code=code("orla.language.pretraining"),
    message:
        "Pretraining {wildcards.model}"
    script:
        "../scripts/language_pretraining.py"


rule language_adaptation:
    input:
        unpack(language_model),
    output:
        losses="<results>/language/{model}/rank-{rank}.losses.parquet",
        norms="<results>/language/{model}/rank-{rank}.norms.parquet",
    log:
        "<logs>/language/{model}/rank-{rank}.log",
    # With the longest jobs first a run does not end with one of them alone.
    priority: 2
    resources:
        mem_mb=3000,
    params:
        config=lambda w: ADAPTED[f"language/{w.model}/rank-{w.rank}"][1],
        grids=STUDY["grids"],
        code=code("orla.language.adaptation"),
    message:
        "Adapting {wildcards.model}, rank {wildcards.rank}"
    script:
        "../scripts/language_adaptation.py"


rule language:
    input:
        language=[f"<results>/{path}.losses.parquet" for path in ADAPTED],
        language_norms=[f"<results>/{path}.norms.parquet" for path in ADAPTED],
    output:
        language="<results>/language.parquet",
        language_norms="<results>/language_norms.parquet",
    log:
        "<logs>/language.log",
    resources:
        mem_mb=1000,
    params:
        allow_mixed=ALLOW_MIXED,
    message:
        "Joining the language models"
    script:
        "../scripts/join.py"
