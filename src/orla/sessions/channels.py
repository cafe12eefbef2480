"""Choice of channels by variance, and the same channels on another session."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orla.errors import OrlaError
from orla.sessions.session import Session


def same_channels(session_a: Session, session_b: Session, names: Sequence[str]) -> list[int]:
    """Columns of `names` on session B.

    Raises:
        OrlaError: B lacks a channel.
    """
    columns = {name: i for i, name in enumerate(session_b.channels)}
    missing = [name for name in names if name not in columns]
    if missing:
        raise OrlaError(
            f"{session_b.name}: chan_names lacks {len(missing)} channels that {session_a.name} has "
            f"(the first is '{missing[0]}'); take two sessions of one array, or use binned "
            "counts with features.method: pca"
        )
    return [columns[name] for name in names]


def require_enough(available: int, asked: int, where: str, what: str) -> None:
    """Raise an OrlaError unless `available` of `what` suffice for the inputs asked for."""
    if available < asked:
        raise OrlaError(
            f"{where}: {available} {what}, fewer than the {asked} inputs asked for; lower "
            "features.count"
        )


def top_channels(counts: np.ndarray, n_inputs: int) -> np.ndarray:
    """Columns of `counts` (steps, channels) with the largest variance, in ascending column order.

    Ties go to the earlier column.
    """
    order = np.argsort(-counts.var(axis=0), kind="stable")
    return np.sort(order[:n_inputs])
