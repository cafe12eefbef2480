"""Put the horizons of all conditions into one table."""

import pandas as pd

from orla.errors import logged
from orla.provenance import collect as provenance
from orla.provenance.tables import read_table, write_table

with logged(snakemake.log[0]):
    tables = [read_table(path) for path in snakemake.input.models]
    source = provenance.collect(
        dataset=tables[0].attrs["provenance"]["dataset"], config=dict(snakemake.params.study)
    )
    write_table(pd.concat(tables, ignore_index=True), snakemake.output.horizon, source)
