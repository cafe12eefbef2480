# River's models beside the networks, on the same rows; all of one stream in a process of their own.


rule peers:
    input:
        unpack(task_files),
    output:
        table="<results>/{domain}/peers/{seed}.parquet",
    log:
        "<logs>/{domain}/peers/{seed}.log",
    priority: 2
    resources:
        mem_mb=2000,
    params:
        task_name=lambda w: PLAN.domains[w.domain][0],
        task=lambda w: PLAN.task_settings(w.domain),
        probe=probe_of,
        plugins=PLUGINS,
        code=code("orla.streams.peers", parts=[("task", "river"), ("probe", "prequential")]),
    message:
        "River's models on {wildcards.domain}, seed {wildcards.seed}"
    script:
        "../scripts/peers.py"


PEER_TABLES = [f"{domain}/peers/{seed}" for domain in PEERED for seed in range(PEERED[domain])]
BESIDE = [part for part in RUN if part.conditions[0].domain in PEERED]


rule speed:
    input:
        peers=[f"<results>/{path}.parquet" for path in PEER_TABLES],
        adapted=[f"<results>/{part.path}.parquet" for part in BESIDE],
    output:
        "<results>/speed.parquet",
    log:
        "<logs>/speed.log",
    resources:
        mem_mb=1000,
    params:
        jobs=[
            [(PLAN.task_settings(c.domain), PLAN.job(c)) for c in part.conditions]
            for part in BESIDE
        ],
        allow_mixed=ALLOW_MIXED,
        plugins=PLUGINS,
        code=code("orla.streams.speed"),
    message:
        "Reading what rows of streams took"
    script:
        "../scripts/speed.py"
