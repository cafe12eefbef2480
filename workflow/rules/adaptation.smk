# Pretraining and adaptation. A job adapts all conditions of one chapter on one stream and split;
# it writes each when it is done, and leaves out one whose kept result is of what is asked.


# The programs of all conditions, compiled beside the pretraining that these wait for. A job that
# comes first makes what it needs itself; two never make the same one.
rule programs:
    input:
        [
            f"<results>/{domain}/streams.npz"
            for domain in sorted({c.domain for c in COMPILED.values()} & {*PAIRS})
        ],
    output:
        programs="<results>/programs.txt",
    log:
        "<logs>/programs.log",
    threads: COMPUTE["threads"]
    resources:
        mem_mb=4000,
    params:
        # Task, folder of the streams or "", and job of one condition for each program.
        conditions=[
            (
                PLAN.task_settings_without_peers(c.domain),
                f"{RESULTS}/{c.domain}/streams.npz" if c.domain in PAIRS else "",
                PLAN.job(c) | {"seeds": 1},
            )
            for c in COMPILED.values()
        ],
        compute=COMPUTE,
        plugins=PLUGINS,
    message:
        "Compiling the loops of all conditions"
    script:
        "../scripts/programs.py"


rule pretrain:
    input:
        unpack(streams_of),
    output:
        # Left where they are of what is asked; else what was adapted from them would be made again.
        networks=update("<results>/{domain}/pretraining/{network}/{precision}.safetensors"),
        curves=update("<results>/{domain}/pretraining/{network}/{precision}.parquet"),
    log:
        "<logs>/{domain}/pretraining/{network}/{precision}.log",
    # Before adaptation: a run would otherwise pretrain its last networks on one core alone.
    priority: 2
    threads: lambda w: compute_of(w)["threads"]
    resources:
        mem_mb=4000,
    params:
        task=lambda w: PLAN.task_settings_without_peers(w.domain),
        episodes=lambda w: SEEDS[w.domain],
        pretraining=pretraining_of,
        networks=lambda w, output: output.networks,
        compute=compute_of,
        plugins=PLUGINS,
        code=pretraining_code,
    message:
        "Pretraining {params.pretraining[seeds]} networks ({wildcards.network} on"
        " {wildcards.domain})"
    script:
        "../scripts/adapt.py"


rule adapt:
    input:
        unpack(streams_of),
        unpack(networks_of),
    output:
        table="<results>/{domain}/adaptation/{network}/{precision}/{part}.parquet",
        traces="<results>/{domain}/adaptation/{network}/{precision}/{part}.npz",
    log:
        "<logs>/{domain}/adaptation/{network}/{precision}/{part}.log",
    # The longest job starts first: a run would otherwise end with it on one core alone.
    priority: share_of_longest
    threads: lambda w: compute_of(w)["threads"]
    resources:
        mem_mb=adaptation_mb,
    params:
        task=lambda w: PLAN.task_settings_without_peers(w.domain),
        episodes=lambda w: SEEDS[w.domain],
        pretraining=pretraining_of,
        networks=lambda w: f"{RESULTS}/{w.domain}/pretraining/{w.network}/{w.precision}.safetensors",
        jobs=lambda w: [PLAN.job(c) for c in part_of(w).conditions],
        paths=lambda w: [f"{RESULTS}/{c.path}" for c in part_of(w).conditions],
        compute=compute_of,
        plugins=PLUGINS,
        code=adaptation_code,
    message:
        "Adapting {wildcards.network} to {wildcards.domain}, {wildcards.part}"
    script:
        "../scripts/adapt.py"
