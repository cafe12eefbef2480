"""Write the page that shows the whole study."""

from pathlib import Path

from facts import facts_of

from orla.errors import logged
from orla.provenance.tables import read_table
from orla.reports import page

with logged(snakemake.log[0]):
    results = {Path(path).stem: read_table(path) for path in snakemake.input.results}
    provenance = results["verdicts"].attrs["provenance"]
    facts = facts_of(snakemake.params, provenance)
    pictures = dict(zip(snakemake.params.figures, snakemake.input.figures, strict=True))
    page.write(snakemake.output.html, results, pictures, facts, provenance)
