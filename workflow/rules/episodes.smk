# Episodes, the data that models see: one for each task, pair and split.

SEEDS = {
    domain: max(c.seeds for c in CONDITIONS.values() if c.domain == domain) for domain in DOMAINS
}


def task_settings(wildcards):
    """The specification of a domain's task; of a recording, with its own pair alone."""
    task, pair = DOMAINS[wildcards.domain]
    return recording(task, pair, "preparation", "parts") if pair else config["tasks"][task]


def task_code(wildcards):
    """A hash of a task's code."""
    task, _ = DOMAINS[wildcards.domain]
    return code("orla.tasks.episode", parts=[("task", config["tasks"][task]["kind"])])


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
