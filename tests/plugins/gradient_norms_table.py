"""Gradient norms, by condition."""

from __future__ import annotations

from orla.reports.cells import part_name, value, with_interval
from orla.reports.numbers import count
from orla.reports.tables.base import Table
from orla.reports.tables.shared import T_INTERVAL


class GradientNormsTable(
    Table,
    name="gradient_norms",
    label="Norms of the gradients",
    chapter="gradients",
    order=10,
    needs=("gradient_norms",),
):
    """A panel a condition, a row a learner and optimizer."""

    says = (
        "Mean norm of the gradient over updates: as the learner answered it, and as the "
        f"optimizer was given it. Brackets: {T_INTERVAL}; n: seeds."
    )
    cells = (
        part_name("learner"),
        part_name("optimizer"),
        value("Learner's norm", "learned_norm", digits=3),
        with_interval("Optimizer's norm", "gradient_norm", "t95_low", "t95_high", digits=3),
        value("Absolute error", "absolute_error", digits=3),
        value("n", "n_seeds", count),
    )
