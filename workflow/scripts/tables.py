"""Write every table as LaTeX and CSV."""

from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.provenance import cost
from orla.provenance.tables import read_table
from orla.reports.report import Report
from orla.reports.study import StudyFacts

with logged(snakemake.log[0]), cost.measured(snakemake.output[0], "reports"):
    catalogue.use_plugins(snakemake.params.plugins)
    results = {Path(path).stem: read_table(path) for path in snakemake.input}
    facts = StudyFacts.from_config(snakemake.params.study, results["verdicts"].attrs["provenance"])
    Report(results, facts).write_tables(Path(snakemake.output[0]).parent)
