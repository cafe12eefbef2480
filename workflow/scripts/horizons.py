"""Put the horizons of all conditions into one table."""

import pandas as pd

from orla.logs import logged
from orla.results import read_table, write_table

with logged(snakemake.log[0]):
    tables = [read_table(path) for path in snakemake.input.models]
    write_table(
        pd.concat(tables, ignore_index=True),
        snakemake.output.horizon,
        tables[0].attrs["provenance"],
    )
