"""Show the verdicts of a finished study: python workflow/show.py RESULTS REPORTS."""

import sys
from pathlib import Path

from orla.errors import one_line
from orla.provenance.tables import read_table
from orla.reports.terminal import verdict_table

with one_line():
    results, reports = map(Path, sys.argv[1:3])
    verdicts = read_table(results / "verdicts.parquet")
    dataset = verdicts.attrs["provenance"]["dataset"]
    print(verdict_table(verdicts, dataset, report=reports / "index.html"))
