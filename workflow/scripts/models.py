"""Put the sweeps of all conditions into one table of models and one of traces."""

import pandas as pd

from orla import sweep
from orla.logs import logged
from orla.results import read_table, write_table

with logged(snakemake.log[0]):
    tables = [read_table(path) for path in snakemake.input.models]
    provenance = tables[0].attrs["provenance"]
    models = pd.concat(tables, ignore_index=True)
    traces = [sweep.traces(*pair) for pair in zip(tables, snakemake.input.traces, strict=True)]
    write_table(models, snakemake.output.lr_curves, provenance)
    write_table(models[models["selected"]], snakemake.output.heldout, provenance)
    write_table(pd.concat(traces, ignore_index=True), snakemake.output.traces, provenance)
