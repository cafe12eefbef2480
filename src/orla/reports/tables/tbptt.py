"""Windows of truncated backpropagation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orla.reports.beside import ERRORS, BesidePaper, Measures, condition


class Windows(
    BesidePaper,
    name="tbptt",
    label="Windows of truncated backpropagation",
    chapter="breadth",
    order=70,
    needs=("heldout",),
    paper="windows",
):
    """Errors by window, ours and the paper's."""

    measures: ClassVar[Measures] = ERRORS
    digits = 5
    says = (
        "Truncated backpropagation, an update a window: squared error after the change, by window."
    )

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        return condition(row)
