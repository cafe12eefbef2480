# The study, from recordings and synthetic tasks to verdicts. Each room is a file in workflow/rules.
from pathlib import Path

from snakemake.utils import min_version

from orla.errors import exit_in_one_line
from orla.study.workflow import require_study_workdir

min_version("9.27")

with exit_in_one_line():
    require_study_workdir(workflow.basedir)


configfile: "config.yaml"


pathvars:
    logs="<results>/logs",


report: "workflow/report/study.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/recordings.smk"
include: "workflow/rules/adaptation.smk"
include: "workflow/rules/streams.smk"
include: "workflow/rules/vision.smk"
include: "workflow/rules/language.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/truth.smk"
include: "workflow/rules/reports.smk"
include: "workflow/rules/drift.smk"
include: "workflow/rules/account.smk"


# Everything. Each result is a target of its own, so that one that was deleted is made again.
rule all:
    default_target: True
    input:
        [
            f"<results>/{d}/streams.npz"
            for d in dict.fromkeys(c.domain for c in CONDITIONS)
            if d in PAIRS
        ],
        [f"<results>/{part.path}.{form}" for part in RUN for form in ("parquet", "npz")],
        rules.programs.output if COMPUTE["compile"] and CONDITIONS else [],
        expand("<results>/{name}.parquet", name=sorted(MADE)),
        rules.reports.output,
    message:
        "Complete: {CHAPTERS}"


# The chapters, as targets. The page shows those that have been run, and says which have not.
rule headline:
    input:
        rules.all.input,
    message:
        "Complete: {CHAPTERS}"


rule pairs:
    input:
        rules.all.input,
    message:
        "Complete: {CHAPTERS}"


rule choices:
    input:
        rules.all.input,
    message:
        "Complete: {CHAPTERS}"


rule controls:
    input:
        rules.all.input,
    message:
        "Complete: {CHAPTERS}"


# Recordings that cannot be used are refused here, before anything is trained on them.
rule prepared:
    input:
        [f"<results>/{domain}/streams.npz" for domain in PAIRS],
    message:
        "The recordings are prepared"
