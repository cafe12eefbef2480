# Texts that a user has, by their paths; the others come with Python.
TEXTS = [text for text in LANGUAGE.get("texts", {}).values() if text not in SHIPPED_TEXTS]


# Language models: those that are made are pretrained, then each is adapted in a job a rank.
rule language_pretraining:
    input:
        texts=TEXTS,
    output:
        model=directory("<results>/language/{model}/pretrained"),
    log:
        "<logs>/language/{model}/pretraining.log",
    resources:
        mem_mb=2000,
    params:
        make=lambda w: LANGUAGE["models"][w.model]["make"],
        settings={key: LANGUAGE[key] for key in ("texts", "shares", "pretraining") if LANGUAGE},
        code=code("orla.language.pretraining", "orla.language.texts"),
    message:
        "Pretraining {wildcards.model}"
    script:
        "../scripts/language_pretraining.py"


rule language_adaptation:
    input:
        unpack(language_model),
        texts=TEXTS,
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
        config=adapted_of,
        grids=STUDY["grids"],
        code=lambda w: code(
            "orla.language.adaptation",
            parts=(("optimizer", name) for name in adapted_of(w)["adapters"]["optimizers"]),
        ),
    message:
        "Adapting {wildcards.model}, rank {wildcards.rank}"
    script:
        "../scripts/language_adaptation.py"


# Result of a chapter -> the tables of its jobs, which stand below each other in it.
JOINED = {
    "peers": PEER_TABLES,
    "tta": [f"vision/{adapts}/{name}" for adapts, name in WAYS],
    "language": [f"{path}.losses" for path in ADAPTED],
    "language_norms": [f"{path}.norms" for path in ADAPTED],
}


rule join:
    input:
        lambda w: [f"{RESULTS}/{path}.parquet" for path in JOINED[w.joined]],
    output:
        "<results>/{joined}.parquet",
    log:
        "<logs>/{joined}.log",
    wildcard_constraints:
        joined="|".join(JOINED),
    resources:
        mem_mb=1000,
    params:
        allow_mixed=ALLOW_MIXED,
    message:
        "Joining the parts of {wildcards.joined}"
    script:
        "../scripts/join.py"
