"""Join tables of one kind, from several jobs, below each other."""

import pandas as pd

from orla.jobs import job
from orla.provenance.tables import read_merged, write_table

with job(snakemake.log[0], snakemake.output[0], snakemake.rule):
    tables, source = read_merged(snakemake.input, snakemake.params.allow_mixed)
    write_table(pd.concat(tables.values(), ignore_index=True), snakemake.output[0], source, tables)
