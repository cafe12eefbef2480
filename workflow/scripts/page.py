"""Write the page that shows the whole study, and its answer as text."""

from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.files import atomic
from orla.provenance import cost
from orla.provenance.tables import read_table
from orla.reports import findings, page, terminal
from orla.reports.report import Report
from orla.reports.study import StudyFacts

with logged(snakemake.log[0]), cost.measured(snakemake.output[0], "reports"):
    params, output = snakemake.params, snakemake.output
    catalogue.use_plugins(params.plugins)
    results = {Path(path).stem: read_table(path) for path in snakemake.input.results}
    origin = results["verdicts"].attrs["provenance"]
    facts = StudyFacts.from_config(params.study, origin)
    report = Report(results, facts, origin, unrun=list(params.unrun.items()))
    texts = {}
    if snakemake.rule == "page":
        pictures = dict(zip(params.figures, snakemake.input.figures, strict=True))
        texts[output.html] = page.page(report, pictures)
        texts[output.text] = terminal.terminal(report, 100, output.html)
    else:
        texts[output.findings] = findings.findings(report)
    for path, text in texts.items():
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
