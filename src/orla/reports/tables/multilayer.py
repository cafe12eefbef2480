"""Depth of vanilla networks."""

from __future__ import annotations

from typing import ClassVar

from orla.reports.beside import BesidePaper, Measures, errors


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

    measures: ClassVar[Measures] = errors(6)
    says = "Best trace and best exact RTRL by number of layers: squared error after the change."
