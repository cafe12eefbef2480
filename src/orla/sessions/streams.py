"""The streams of two sessions, and their file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orla.tasks.stream import Sealed, Stream


@dataclass(frozen=True)
class Streams(Sealed):
    """The two sessions of a pair.

    Attributes:
        a: the session to pretrain on, X (steps, n_in).
        b: the session to adapt to, with the same inputs and outputs.
        bin_s: seconds a step.
        dataset: name, source, simulated (bool), label, features, and how much was kept.
        categories: number of categories where targets are categories; None for values.
    """

    a: Stream
    b: Stream
    bin_s: float
    dataset: dict[str, Any]
    categories: int | None = None

    @property
    def n_out(self) -> int:
        """Outputs of a network: columns of Y, or the number of categories."""
        return self.a.Y.shape[1] if self.categories is None else self.categories
