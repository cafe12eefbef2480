"""The study's tables: each takes tidy results and returns a ``Table`` with the paper's numbers."""

from orla.reports.table import write
from orla.reports.tables.price import selection_price
from orla.reports.tables.ratio import ratio_gap
from orla.reports.tables.recoveries import heldout
from orla.reports.tables.two_by_two import bci_gap
from orla.reports.tables.verdicts import threshold, verdict, verdict_estimate, verdict_rows

__all__ = [
    "bci_gap",
    "heldout",
    "ratio_gap",
    "selection_price",
    "threshold",
    "verdict",
    "verdict_estimate",
    "verdict_rows",
    "write",
]
