"""Write one table as LaTeX and CSV."""

from orla.errors import logged
from orla.provenance.tables import read_table
from orla.reports import tables

with logged(snakemake.log[0]):
    frames = [read_table(path) for path in snakemake.input]
    dataset = frames[0].attrs["provenance"]["dataset"]
    make = getattr(tables, snakemake.wildcards.table)
    tables.write(make(*frames, dataset), snakemake.output.tex, snakemake.output.csv)
