"""The streams of two sessions, and their file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.errors import OrlaError
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

    def __post_init__(self) -> None:
        a, b = self.a, self.b
        if a.own or b.own:
            raise OrlaError("streams: X has an axis of seeds; a session has one stream for all")
        if a.n_in != b.n_in or a.Y.shape[1:] != b.Y.shape[1:] or a.Y.dtype != b.Y.dtype:
            raise OrlaError(
                f"streams: session A has X {a.X.shape}, Y {a.Y.dtype} {a.Y.shape} and B X "
                f"{b.X.shape}, Y {b.Y.dtype} {b.Y.shape}; give both the same inputs and targets"
            )
        if (self.categories is None) != (a.Y.ndim == 2):
            raise OrlaError(
                f"streams: Y is {a.Y.dtype} {a.Y.shape} and categories is {self.categories}; give "
                "their number for categories, and None for values"
            )
        for name, stream in (("A", a), ("B", b)):
            if len(stream) == 0:
                raise OrlaError(f"streams: session {name} has no steps; take a longer recording")
            if self.categories is not None and not (
                stream.Y.min() >= 0 and stream.Y.max() < self.categories
            ):
                raise OrlaError(
                    f"streams: session {name} has categories {stream.Y.min()} to {stream.Y.max()}, "
                    f"of {self.categories}; number them from 0"
                )
        if not (np.isfinite(self.bin_s) and self.bin_s > 0):
            raise OrlaError(f"streams: bin_s is {self.bin_s}; give seconds above 0")

    @property
    def n_out(self) -> int:
        """Outputs of a network: columns of Y, or the number of categories."""
        return self.a.Y.shape[1] if self.categories is None else self.categories
