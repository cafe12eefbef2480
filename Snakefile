# The study, from recordings and synthetic tasks to verdicts. Each chapter is a file in workflow/rules.
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


pathvars:
    recordings="recordings",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


report: "workflow/report/study.rst"


include: "workflow/rules/config.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/recordings.smk"
include: "workflow/rules/episodes.smk"
include: "workflow/rules/pretraining.smk"
include: "workflow/rules/sweeps.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/verdict.smk"
include: "workflow/rules/truth.smk"
include: "workflow/rules/reports.smk"


# Every result is a target of its own, so that one that was deleted is made again.
rule headline:
    input:
        SESSION_FILES,
        expand("<results>/{path}.safetensors", path=NETWORKS),
        expand("<results>/{path}.{form}", path=CONDITIONS, form=["parquet", "npz"]),
        expand("<results>/{name}.parquet", name=PAGE_RESULTS),
        REPORT_FILES,
    message:
        "The study is complete"


# Recordings that cannot be used are refused here, before anything is trained on them.
rule prepared:
    input:
        SESSION_FILES,
        EPISODES,
    message:
        "The recordings are prepared"


rule all:
    default_target: True
    input:
        rules.headline.input,
    message:
        "Every chapter is complete"
