"""Tabular streams: our learners with River's interface, and River's models beside them."""

import importlib
from typing import Any

from orla.errors import OrlaError

try:
    from river import __version__ as RIVER
    from river.datasets import synth
except ImportError:
    raise OrlaError("tabular streams need River: pip install 'orla[streams]'") from None

__all__ = ["RIVER", "OnlineRNN", "synth"]


def __getattr__(name: str) -> Any:
    # By its name alone, so that results of River's models do not depend on the engine's code.
    if name == "OnlineRNN":
        return importlib.import_module("orla.streams.classifier").OnlineRNN
    raise AttributeError(f"module {__name__} has no attribute {name}")
