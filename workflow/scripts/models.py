"""Put the sweeps of all conditions into one table of models and one of traces."""

import numpy as np
import pandas as pd

from orla.errors import logged
from orla.provenance import collect as provenance
from orla.provenance.tables import read_table, write_table
from orla.study import traces

with logged(snakemake.log[0]):
    window = snakemake.params.study["parts"]["cut"]
    sweeps = [read_table(path) for path in snakemake.input.models]
    laid_out = []
    for models, path in zip(sweeps, snakemake.input.traces, strict=True):
        with np.load(path) as arrays:
            laid_out.append(traces.selected(models, window=window, **arrays))
    source = provenance.collect(
        dataset=sweeps[0].attrs["provenance"]["dataset"], config=dict(snakemake.params.study)
    )
    models = pd.concat(sweeps, ignore_index=True)
    write_table(models, snakemake.output.lr_curves, source)
    write_table(models[models["selected"]], snakemake.output.heldout, source)
    write_table(pd.concat(laid_out, ignore_index=True), snakemake.output.traces, source)
