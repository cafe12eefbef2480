"""Optimizers of immediate derivatives on three tasks."""

from __future__ import annotations

from typing import ClassVar

from orla.reports.beside import VS_RTRL, BesidePaper, Measure, Measures


class Optimizers(
    BesidePaper,
    name="optimizers",
    label="Optimizers of immediate derivatives",
    chapter="breadth",
    order=20,
    needs=("heldout",),
    paper="optimizers",
):
    """Recovery by optimizer, ours and the paper's."""

    measures: ClassVar[Measures] = {
        "recovery_vs_rtrl_percent": VS_RTRL._replace(digits=0),
        "adapt_recovery_percent": Measure("recovery_adapt_percent", "recovery_heldout_percent", 0),
    }
    says = "Immediate derivatives by optimizer: recovery (%), on synthetic tasks exact RTRL is 100."
