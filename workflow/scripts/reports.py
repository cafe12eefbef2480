"""Write tables, figures, the page and the answer as text; or the findings."""

from pathlib import Path

from orla import catalogue
from orla.catalogue.plugins import name_failing_part
from orla.files import atomic
from orla.jobs import job
from orla.provenance.tables import read_table
from orla.reports import page
from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.tables import drift

params, output = snakemake.params, snakemake.output
# Its cost stands beside its log, with those of all other jobs: reports lie elsewhere.
with job(snakemake.log[0], snakemake.log[0].removesuffix(".log"), "reports", params.plugins):
    results = {Path(path).stem: read_table(path) for path in snakemake.input.results}
    first = ("verdicts", "drift_report", *results)
    origin = next(results[name] for name in first if name in results).attrs["provenance"]
    facts = StudyFacts.from_config(params.study, origin)
    report = Report(results, facts, origin, unrun=list(params.unrun.items()))
    if snakemake.rule == "findings":
        texts = {output.findings: page.findings_markdown(report)}
    else:
        folder, pictures = Path(output.html).parent, {}
        if snakemake.rule == "reports":
            report.write_tables(folder)
        for name in params.figures:
            figure = catalogue.make("figure", name)
            paths = [folder / f"figure_{name}.{form}" for form in ("pdf", "png")]
            with name_failing_part(figure):
                figure.render(*report.needed_results(type(figure)), paths=paths, study=facts)
            pictures[name] = paths[1]
        texts = {
            output.html: page.page_html(report, pictures),
            output.text: page.terminal_text(report, 100, output.html)
            if snakemake.rule == "reports"
            else drift.report_text(results["drift_report"]),
        }
    for path, text in texts.items():
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
