"""Write docs/findings.md from the results of this study."""

from pathlib import Path

from facts import facts_of

from orla.errors import logged
from orla.files import atomic
from orla.provenance.tables import read_table
from orla.reports.findings import findings

with logged(snakemake.log[0]):
    results = {Path(path).stem: read_table(path) for path in snakemake.input.results}
    provenance = results["verdicts"].attrs["provenance"]
    facts = facts_of(snakemake.params, provenance)
    with atomic(snakemake.output.findings) as partial:
        partial.write_text(findings(results, provenance, facts), encoding="utf-8")
