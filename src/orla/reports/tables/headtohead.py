"""Learners across tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orla.reports.beside import VS_RTRL, BesidePaper, Measures, condition

# Units of the networks whose rows name no size.
_USUAL = 64


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
        **VS_RTRL,
        "recovery_percent": ("recovery_heldout_percent", "recovery_heldout_percent"),
        "cross_entropy": ("adapt_error", "heldout_error"),
    }
    digits = 3
    says = (
        "Immediate derivatives and Jacobian-based methods across tasks: recovery (%), on synthetic "
        "tasks with exact RTRL as 100 and over the adapt part; on bytes the cross-entropy (nats)."
    )

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        if "delay_steps" in row:
            row = row | {"task": f"delayed-{row['delay_steps']}"}
        if row.get("hidden", _USUAL) != _USUAL:
            row = row | {"task": row.get("task", "sine"), "architecture": f"rnn-{row['hidden']}"}
        if "learner" not in row and row.get("task") == "bytes":
            row = row | {"architecture": "rnn"}
        return condition(row)
