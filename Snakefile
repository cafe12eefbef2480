# The study, from two recordings to a verdict. Each chapter is a file in workflow/rules.
from pathlib import Path

import yaml
from snakemake.utils import min_version

from orla import conditions, schema
from orla.errors import one_line

min_version("9.27")


configfile: "config.yaml"


pathvars:
    recordings="recordings",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


with one_line():
    schema.validate(
        config,
        yaml.safe_load(Path(workflow.basedir, "workflow/schemas/config.schema.yaml").read_text()),
        "config",
    )
    conditions.check(
        config["conditions"], config["architectures"], config["grids"], config["parts"]["splits"]
    )
CONDITIONS = conditions.expand(config["conditions"])


report: "workflow/report/study.rst"


include: "workflow/rules/sessions.smk"
include: "workflow/rules/pretraining.smk"
include: "workflow/rules/sweeps.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/verdict.smk"
include: "workflow/rules/reports.smk"


# Everything is asked for by name, so that whatever is deleted comes back.
rule headline:
    input:
        SESSION_FILES,
        expand("<results>/pretraining/{path}.safetensors", path=NETWORKS),
        expand("<results>/sweeps/{c.path}.{form}", c=CONDITIONS, form=["parquet", "npz"]),
        expand("<results>/horizons/{c.path}.parquet", c=HORIZON_CONDITIONS),
        expand("<results>/{name}.parquet", name=PAGE_RESULTS),
        REPORT_FILES,


rule all:
    default_target: True
    input:
        rules.headline.input,
