# Episodes, the data that models see: one for each task, pair and split.

SEEDS = {
    domain: max(c.seeds for c in CONDITIONS.values() if c.domain == domain) for domain in DOMAINS
}

EPISODES = sorted({f"<results>/{c.domain}/episodes/{c.split}.npz" for c in CONDITIONS.values()})


# From the streams of two sessions.
rule cut:
    input:
        streams="<results>/{domain}/streams.npz",
    output:
        episode="<results>/{domain}/episodes/{split}.npz",
    log:
        "<logs>/episodes/{domain}/{split}.log",
    benchmark:
        "<benchmarks>/episodes/{domain}/{split}.tsv"
    wildcard_constraints:
        domain=one_of(PAIRS),
        split="[^/]+",
    threads: 1
    resources:
        mem_mb=1000,
    params:
        task=task_settings,
        plugins=PLUGINS,
        seeds=lambda w: SEEDS[w.domain],
        code=task_code,
    message:
        "Cutting the episode {wildcards.split} of {wildcards.domain}"
    script:
        "../scripts/episode.py"


# From a synthetic task, one stream a seed.
use rule cut as draw with:
    input:
        [],
    wildcard_constraints:
        domain=one_of(set(DOMAINS) - set(PAIRS)),
        split="[^/]+",
    message:
        "Drawing the episode {wildcards.split} of {wildcards.domain}"
