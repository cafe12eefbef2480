"""Draw one figure as PDF and PNG."""

from orla.logs import logged
from orla.reports import figures
from orla.results import read_table

with logged(snakemake.log[0]):
    frames = [read_table(path) for path in snakemake.input]
    dataset = frames[0].attrs["provenance"]["dataset"]
    draw = getattr(figures, snakemake.wildcards.figure)
    draw(*frames, (snakemake.output.pdf, snakemake.output.png), dataset)
