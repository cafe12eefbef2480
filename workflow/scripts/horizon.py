"""Adapt every seed of one condition, at its selected rate, for some of the session only."""

from orla import sweep
from orla.logs import logged
from orla.results import read_table, write_table

from study import study_of

with logged(snakemake.log[0]):
    models = read_table(snakemake.input.models)
    models = models[models["selected"]]
    study, source = study_of(snakemake, len(models))
    steps = snakemake.params.steps
    rows = sweep.horizons(study, float(models["learning_rate"].iloc[0]), steps)
    write_table(rows, snakemake.output.models, source | {"horizons": {"steps": steps}})
