"""Draw one figure as PDF and PNG."""

from facts import facts_of

from orla import catalogue
from orla.errors import logged
from orla.provenance.tables import read_table

with logged(snakemake.log[0]):
    frames = [read_table(path) for path in snakemake.input]
    facts = facts_of(snakemake.params, frames[0].attrs["provenance"])
    figure = catalogue.part("figure", snakemake.wildcards.figure)()
    figure.draw(*frames, paths=(snakemake.output.pdf, snakemake.output.png), study=facts)
