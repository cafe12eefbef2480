"""Adapt every seed of one condition at every learning rate."""

import numpy as np

from orla.errors import logged
from orla.files import atomic
from orla.provenance.tables import write_table
from orla.study import sweep

from study import study_of

with logged(snakemake.log[0]):
    condition = snakemake.params.condition
    study, source = study_of(snakemake)
    rates, horizons = condition["learning_rates"], condition["horizons"]
    swept = sweep.sweep(study, rates, snakemake.params.grid_growth, horizons)
    grid = {"learning_rates": rates, "growth": snakemake.params.grid_growth}
    source |= {"grid": grid}
    write_table(swept.models, snakemake.output.models, source)
    steps = {"horizons": {"steps": horizons}}
    write_table(swept.horizons, snakemake.output.horizons, source | steps)
    with atomic(snakemake.output.traces) as partial:
        np.savez(partial, **swept.traces)
