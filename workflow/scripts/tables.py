"""Write every table as LaTeX and CSV."""

from pathlib import Path

from facts import facts_of

from orla import catalogue
from orla.errors import logged
from orla.provenance import cost
from orla.provenance.tables import read_table
from orla.reports.table import write

with logged(snakemake.log[0]), cost.measured(snakemake.output[0]):
    results = {Path(path).stem: read_table(path) for path in snakemake.input}
    results["models"] = results["lr_curves"]
    for tex, csv in zip(snakemake.output[::2], snakemake.output[1::2], strict=True):
        table = catalogue.part("table", Path(tex).stem.removeprefix("table_"))
        frames = [results[need] for need in table.part.more["needs"]]
        facts = facts_of(snakemake.params, frames[0].attrs["provenance"])
        write(table().build(*frames, study=facts), tex, csv)
