"""Windows of truncated backpropagation."""

from __future__ import annotations

from typing import ClassVar

from orla.reports.beside import BesidePaper, Measures, errors


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

    measures: ClassVar[Measures] = errors(5)
    says = (
        "Truncated backpropagation, an update a window: squared error after the change, by window."
    )
