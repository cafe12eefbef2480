"""Depth of vanilla networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orla.reports.beside import ERRORS, BesidePaper, Measures, condition


class Multilayer(
    BesidePaper,
    name="multilayer",
    label="Depth",
    chapter="breadth",
    order=50,
    needs=("heldout",),
    paper="multilayer",
):
    """Errors by number of layers, ours and the paper's."""

    measures: ClassVar[Measures] = ERRORS
    digits = 6
    says = "Best trace and best exact RTRL by number of layers: squared error after the change."

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        layers = "" if row["depth"] == 1 else f"-{row['depth']}"
        return condition(row | {"architecture": row["architecture"] + layers})
