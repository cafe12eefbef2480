"""Write one table as LaTeX and CSV."""

from facts import facts_of

from orla import catalogue
from orla.errors import logged
from orla.provenance.tables import read_table
from orla.reports.table import write

with logged(snakemake.log[0]):
    frames = [read_table(path) for path in snakemake.input]
    facts = facts_of(snakemake.params, frames[0].attrs["provenance"])
    table = catalogue.part("table", snakemake.wildcards.table)()
    write(table.build(*frames, study=facts), snakemake.output.tex, snakemake.output.csv)
