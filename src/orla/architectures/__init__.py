"""Recurrent networks, each written for one model as pure functions of a dict of named tensors."""

from orla.architectures.base import Architecture, LinearGates, Parameters, rows_along_memory
from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.errors import OrlaError

ARCHITECTURES: dict[str, type[Architecture]] = {"rnn": RNN, "lstm": LSTM}


def architecture(name: str, hidden: int, n_in: int, n_out: int) -> Architecture:
    """The architecture called `name` with `hidden` units, `n_in` inputs and `n_out` outputs.

    Raises OrlaError when no architecture has that name.
    """
    if name not in ARCHITECTURES:
        raise OrlaError(f"architecture {name!r} is unknown; choose one of {sorted(ARCHITECTURES)}")
    return ARCHITECTURES[name](hidden=hidden, n_in=n_in, n_out=n_out)


__all__ = [
    "ARCHITECTURES",
    "LSTM",
    "RNN",
    "Architecture",
    "LinearGates",
    "Parameters",
    "architecture",
    "rows_along_memory",
]
