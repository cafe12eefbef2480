"""Tabular streams: the project's learners with River's interface, and River's models beside them."""

from orla.errors import OrlaError

try:
    import river  # noqa: F401
except ImportError:
    raise OrlaError("tabular streams need River: pip install 'orla[streams]'") from None

from orla.streams.classifier import OnlineRNN

__all__ = ["OnlineRNN"]
