"""Choice of channels by variance, and which channels of two sessions are the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from orla.errors import OrlaError
from orla.sessions.session import Session


@dataclass(frozen=True)
class Correspondence:
    """Whether a channel of session A is the channel of that identity in session B.

    Attributes:
        columns: "same" or "different".
        because: how that is known, or why it is not.
        option: the key of the config that declares it; "" where none does.
        names_last: whether an array and a name mean one electrode on both days, stable or not: what
            components may be aligned by. The number of a sorted unit does not.
    """

    columns: str
    because: str
    option: str = ""
    names_last: bool = True


def correspondence(a: Session, b: Session, columns: str | None = None) -> Correspondence:
    """Whether two sessions have the same channels: declared, or proved by their arrays.

    A channel is proved to be the same by the names of its array and of itself, in recordings of
    one subject. The number of a sorted unit proves nothing: each day's sorter numbers anew.
    """
    if columns is not None:
        return Correspondence(columns, "the config says so")
    for session in (a, b):
        if not all(session.arrays):
            why = f"units of {session.name} have no electrodes, and each sorting numbers units anew"
            return Correspondence("different", why, names_last=False)
    if a.subject != b.subject and a.subject and b.subject:
        why = f"{a.name} is of subject {a.subject}, {b.name} of {b.subject}"
        return Correspondence("different", why, names_last=False)
    numbers = all(name.startswith("electrode ") for name in (*a.channels, *b.channels))
    if numbers and (a.channels, a.arrays) != (b.channels, b.arrays):
        why = f"electrodes have numbers alone: {len(a.channels)} of {a.name}, {len(b.channels)} of "
        return Correspondence("different", why + b.name)
    whose = f"subject {a.subject}" if a.subject == b.subject != "" else "no other subject is named"
    return Correspondence("same", f"names of arrays and electrodes; {whose}")


def same_channels(keys: Sequence[Hashable], on_b: Sequence[Hashable], a: str, b: str) -> list[int]:
    """Columns of `keys`, identities of channels of session `a`, among those of session `b`.

    Raises:
        OrlaError: B lacks a channel.
    """
    columns = {key: i for i, key in enumerate(on_b)}
    absent = [key for key in keys if key not in columns]
    if absent:
        array, name = absent[0] if isinstance(absent[0], tuple) else ("", str(absent[0]))
        first = name if name.startswith(array) else f"{array} {name}"
        raise OrlaError(
            f"{b}: lacks {len(absent)} of the {len(keys)} channels of {a} (the first is "
            f"'{first}'); take two sessions of one array, or declare other channels: "
            "channels: different, with features {method: pca, of: own}"
        )
    return [columns[key] for key in keys]


def require_enough(available: int, count: int, where: str, what: str) -> None:
    """Raise an OrlaError unless `available` of `what` suffice for the inputs asked for."""
    if available < count:
        raise OrlaError(
            f"{where}: {available} {what}, fewer than the {count} inputs asked for; lower "
            "features.count"
        )


def top_channels(counts: np.ndarray, n_inputs: int) -> np.ndarray:
    """Columns of `counts` (steps, channels) with the largest variance, in ascending column order.

    Ties go to the earlier column.
    """
    order = np.argsort(-counts.var(axis=0), kind="stable")
    return np.sort(order[:n_inputs])
