"""Show the verdicts of a finished study: python workflow/show.py RESULTS REPORTS."""

import sys
from pathlib import Path

from orla.errors import one_line
from orla.provenance.tables import read_table
from orla.reports.study import StudyFacts
from orla.reports.terminal import verdict_table
from orla.reports.words import data_in_words

with one_line():
    results, reports = map(Path, sys.argv[1:3])
    verdicts = read_table(results / "verdicts.parquet")
    datasets = verdicts.attrs["provenance"]["datasets"].values()
    facts = StudyFacts(
        name=results.name,
        label=data_in_words(dataset["label"] for dataset in datasets),
        simulated=any(dataset["simulated"] for dataset in datasets),
    )
    print(verdict_table(verdicts, facts, report=reports / "index.html"))
