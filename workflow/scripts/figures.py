"""Draw every figure as PDF and PNG."""

from pathlib import Path

from facts import facts_of

from orla import catalogue
from orla.errors import logged
from orla.provenance import cost
from orla.provenance.tables import read_table

with logged(snakemake.log[0]), cost.measured(snakemake.output[0]):
    results = {Path(path).stem: read_table(path) for path in snakemake.input}
    results["models"] = results["lr_curves"]
    for pdf, png in zip(snakemake.output[::2], snakemake.output[1::2], strict=True):
        figure = catalogue.part("figure", Path(pdf).stem.removeprefix("figure_"))
        frames = [results[need] for need in figure.part.more["needs"]]
        facts = facts_of(snakemake.params, frames[0].attrs["provenance"])
        figure().draw(*frames, paths=(pdf, png), study=facts)
