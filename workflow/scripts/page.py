"""Write the page that shows the whole study."""

from pathlib import Path

from orla.errors import logged
from orla.provenance.tables import read_table
from orla.reports import page

with logged(snakemake.log[0]):
    results = {Path(path).stem: read_table(path) for path in snakemake.input.results}
    provenance = results["verdicts"].attrs["provenance"]
    page.write(
        snakemake.output.html,
        results,
        dict(zip(snakemake.params.figures, snakemake.input.figures, strict=True)),
        provenance["dataset"],
        provenance,
    )
