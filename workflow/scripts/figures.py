"""Draw every figure as PDF and PNG."""

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
    report = Report(results, facts)
    for pdf, png in zip(snakemake.output[::2], snakemake.output[1::2], strict=True):
        figure = catalogue.part("figure", Path(pdf).stem.removeprefix("figure_"))
        figure().render(*report.needed(figure), paths=(pdf, png), study=facts)
