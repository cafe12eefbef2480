"""Tabular streams: our learners with River's interface, and River's models beside them."""

from orla.errors import OrlaError

try:
    from river import __version__ as RIVER
    from river.datasets import synth
except ImportError:
    raise OrlaError("tabular streams need River: pip install 'orla[streams]'") from None

from orla.streams.classifier import OnlineRNN

__all__ = ["RIVER", "OnlineRNN", "synth"]
