"""Ways to compute a table's numbers that need a package which may not be installed."""

from __future__ import annotations

import importlib
from types import ModuleType


def peer(module: str, package: str) -> ModuleType | None:
    """A module of the benchmarks; None, which is said, where the package it needs is not there."""
    try:
        return importlib.import_module(f"benchmarks.{module}")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "benchmarks":
            raise
        print(f"{package} is not installed, its rows are left out: pip install '.[benchmarks]'")
        return None
