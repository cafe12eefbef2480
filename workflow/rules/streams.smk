# River's models beside the networks, on the same rows; all of one stream in a process of their own.


rule peers:
    input:
        unpack(table_of),
    output:
        table="<results>/{domain}/peers/{seed}.parquet",
    log:
        "<logs>/{domain}/peers/{seed}.log",
    # With the longest jobs first a run does not end with one of them alone.
    priority: 2
    resources:
        mem_mb=2000,
    params:
        task=lambda w: PLAN.task_settings(w.domain),
        probe=probe_of,
        plugins=PLUGINS,
        code=code("orla.streams.peers", parts=[("task", "river"), ("probe", "prequential")]),
    message:
        "River's models on {wildcards.domain}, seed {wildcards.seed}"
    script:
        "../scripts/peers.py"


PEER_FILES = [(domain, seed) for domain, seeds in PEERED.items() for seed in range(seeds)]
BESIDE = [part for part in RUN if part.conditions[0].domain in PEERED]


rule beside:
    input:
        peers=[f"<results>/{domain}/peers/{seed}.parquet" for domain, seed in PEER_FILES],
        adapted=[f"<results>/{part.path}.parquet" for part in BESIDE],
    output:
        peers="<results>/peers.parquet",
        speed="<results>/speed.parquet",
    log:
        "<logs>/beside.log",
    resources:
        mem_mb=1000,
    params:
        tasks=[PLAN.domains[domain][0] for domain, _ in PEER_FILES],
        jobs=[
            [(PLAN.task_settings(c.domain), PLAN.job(c)) for c in part.conditions]
            for part in BESIDE
        ],
        allow_mixed=ALLOW_MIXED,
        plugins=PLUGINS,
        code=code("orla.streams.speed"),
    message:
        "Joining River's models"
    script:
        "../scripts/beside.py"
