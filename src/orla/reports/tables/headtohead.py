"""Learners across tasks."""

from __future__ import annotations

from typing import ClassVar

from orla.reports.beside import VS_RTRL, BesidePaper, Measure, Measures


class HeadToHead(
    BesidePaper,
    name="headtohead",
    label="Head to head",
    chapter="breadth",
    order=10,
    needs=("heldout",),
    paper="headtohead",
):
    """Every row of the paper's comparison of learners across tasks."""

    measures: ClassVar[Measures] = {
        "recovery_vs_rtrl_percent": VS_RTRL,
        "recovery_percent": Measure(
            "recovery_adapt_percent", "recovery_heldout_percent", on_heldout=True
        ),
        "cross_entropy": Measure("adapt_error", "heldout_error", 3),
    }
    says = (
        "Immediate derivatives and Jacobian-based methods across tasks: recovery (%), on synthetic "
        "tasks with exact RTRL as 100 and over the adapt part; on bytes the cross-entropy (nats)."
    )
