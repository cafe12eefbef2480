"""Join tables of one kind, from several jobs, below each other: a list of inputs an output."""

import pandas as pd

from orla.jobs import job
from orla.provenance.tables import read_merged, write_table

with job(snakemake.log[0], snakemake.output[0], snakemake.rule):
    for name, path in snakemake.output.items():
        tables, source = read_merged(snakemake.input[name], snakemake.params.allow_mixed)
        write_table(pd.concat(tables.values(), ignore_index=True), path, source, tables)
