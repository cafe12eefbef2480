"""Draw one figure as PDF and PNG."""

from orla.errors import logged
from orla.provenance.tables import read_table
from orla.reports import figures

with logged(snakemake.log[0]):
    frames = [read_table(path) for path in snakemake.input]
    dataset = frames[0].attrs["provenance"]["dataset"]
    draw = getattr(figures, snakemake.wildcards.figure)
    draw(*frames, (snakemake.output.pdf, snakemake.output.png), dataset)
