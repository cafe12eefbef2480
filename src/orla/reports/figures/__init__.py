"""The study's figures, drawn from tidy results; each returns its caption and alternative text."""

from orla.reports.figures.curves import describe_lr_curves, lr_curves
from orla.reports.figures.horizon import describe_horizon_gap, horizon_gap
from orla.reports.figures.shared import Caption
from orla.reports.figures.tost import describe_tost_interval, tost_interval
from orla.reports.figures.traces import adaptation_traces, describe_adaptation_traces

__all__ = [
    "Caption",
    "adaptation_traces",
    "describe_adaptation_traces",
    "describe_horizon_gap",
    "describe_lr_curves",
    "describe_tost_interval",
    "horizon_gap",
    "lr_curves",
    "tost_interval",
]
