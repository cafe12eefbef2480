"""Join what was measured of all language models."""

import pandas as pd

from orla.jobs import job
from orla.provenance import merge
from orla.provenance.tables import read_table, write_table

output = snakemake.output
with job(snakemake.log[0], output.language):
    pairs = (("losses", output.language), ("norms", output.language_norms))
    for kind, path in pairs:
        tables = {file: read_table(file) for file in snakemake.input[kind]}
        given = {file: table.attrs["provenance"] for file, table in tables.items()}
        source = merge.merge(given, allow_mixed=snakemake.params.allow_mixed)
        write_table(pd.concat(tables.values(), ignore_index=True), path, source, tables)
