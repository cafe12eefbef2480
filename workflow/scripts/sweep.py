"""Adapt every seed of one condition at every learning rate."""

import numpy as np

from orla import sweep
from orla.files import atomic
from orla.logs import logged
from orla.results import write_table

from study import study_of

with logged(snakemake.log[0]):
    condition = snakemake.params.condition
    study, source = study_of(snakemake, condition["seeds"])
    swept = sweep.sweep(study, condition["learning_rates"], snakemake.params.grid_growth)
    grid = {"learning_rates": condition["learning_rates"], "growth": snakemake.params.grid_growth}
    write_table(swept.models, snakemake.output.models, source | {"grid": grid})
    with atomic(snakemake.output.traces) as partial:
        np.savez(partial, **swept.traces)
