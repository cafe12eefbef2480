"""Architectures on the sine whose frequency changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orla.reports.beside import VS_RTRL, BesidePaper, Measures, condition


class Architectures(
    BesidePaper,
    name="architectures",
    label="Architectures on sine",
    chapter="breadth",
    order=40,
    needs=("heldout",),
    paper="architectures",
):
    """Recovery by network, ours and the paper's."""

    measures: ClassVar[Measures] = VS_RTRL
    digits = 1
    says = "Immediate derivatives with Adam by network: recovery (%), exact RTRL is 100."

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        return condition(row)
