"""Tabular streams: our learners with River's interface, and River's models beside them."""

import importlib
from typing import Any

from orla.errors import OrlaError

try:
    from river import datasets
except ImportError:
    raise OrlaError("tabular streams need River: pip install 'orla[streams]'") from None

__all__ = ["OnlineRNN", "datasets"]


def __getattr__(name: str) -> Any:
    # By its name alone, so that results of River's models do not depend on the engine's code.
    if name == "OnlineRNN":
        return importlib.import_module("orla.streams.classifier").OnlineRNN
    raise AttributeError(f"module {__name__} has no attribute {name}")
