"""Optimizers of immediate derivatives on three tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orla.reports.beside import VS_RTRL, BesidePaper, Measures, condition


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
        **VS_RTRL,
        "adapt_recovery_percent": ("recovery_adapt_percent", "recovery_heldout_percent"),
    }
    digits = 0
    says = "Immediate derivatives by optimizer: recovery (%), on synthetic tasks exact RTRL is 100."

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        return condition(row)
