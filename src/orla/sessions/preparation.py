"""How recordings become streams: settings, and inputs from columns that two sessions share.

Inputs are transformed and z-scored, targets are z-scored or made categories, all by session A's
pretraining part. Nothing is fitted on session B or on A's tail, with one exception: where each
session has its own principal components, B's are fitted on the inputs (never the targets) of its
first steps, and B's stream begins after those steps. The dataset record says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.sessions.channels import require_enough, top_channels
from orla.sessions.projection import Projection
from orla.tasks.stream import Stream

TARGETS = {"cursor": "cursor_pos", "finger": "finger_pos"}

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Features:
    """The inputs of the networks."""

    method: str = option(
        "top_channels",
        "Channels of largest variance, or principal components of all channels.",
        choices=("top_channels", "pca"),
    )
    count: int = option(40, "How many inputs.", least=1)
    of: str | None = option(
        None,
        "Whose principal components: shared, fitted on session A and used on both; or own, each "
        "session's, of binned recordings alone. null: own where binned.columns is different, else "
        "shared.",
        choices=(None, "shared", "own"),
    )
    own_fit: int | float = option(
        0.2,
        "First part of session B that its own components are fitted on, and that is then left out; "
        "a whole number of steps, or a fraction of the session.",
        above=0,
    )


@dataclass(frozen=True)
class Target:
    """What the networks decode from spikes."""

    signal: str = option("cursor", "Whose velocity.", choices=tuple(TARGETS))
    lag_s: float = option(0.0, "Seconds by which the velocity is later than the spikes.")


@dataclass(frozen=True)
class Preparation:
    """How recordings become streams; `units` and `target` concern recordings of spikes."""

    bin_s: float = option(0.05, "Width of a bin in seconds; a step is one bin.", above=0)
    units: str = option(
        "all",
        "Whether unsorted threshold crossings count (all) or not (sorted).",
        choices=("all", "sorted"),
    )
    transform: str = option(
        "sqrt", "What is done to inputs before they are z-scored.", choices=("sqrt", "none")
    )
    features: Features = field(default_factory=Features)
    target: Target = field(default_factory=Target)


def columns_of(pretraining: np.ndarray, features: Features, where: str) -> np.ndarray:
    """Columns of A that become inputs or that principal components are fitted to."""
    require_enough(pretraining.shape[1], features.count, where, "channels")
    if features.method == "top_channels":
        return top_channels(pretraining, features.count)
    return np.arange(pretraining.shape[1])


def transformed(rows: np.ndarray, preparation: Preparation) -> np.ndarray:
    """Inputs as float64, or the square roots of counts."""
    return np.sqrt(rows) if preparation.transform == "sqrt" else rows.astype(np.float64)


def component_names(count: int) -> list[str]:
    """Names of principal components in errors."""
    return [f"component {i + 1}" for i in range(count)]


def reduced(
    raw: Pair, names: list[str], n_pretraining: int, preparation: Preparation, where: str
) -> tuple[Pair, list[str]]:
    """Inputs of both sessions from columns that correspond, and the inputs' names."""
    inputs = transformed(raw[0], preparation), transformed(raw[1], preparation)
    if preparation.features.method != "pca":
        return inputs, names
    count = preparation.features.count
    projection = Projection.fit(inputs[0][:n_pretraining], count, where)
    return (projection(inputs[0]), projection(inputs[1])), component_names(count)


def kept(stream: Stream, units: int, of_units: int) -> dict[str, Any]:
    """How much of a session a stream holds, for the dataset record."""
    scored = len(stream) if stream.scored is None else int(stream.scored.sum())
    return {"steps": len(stream), "scored": scored, "units": units, "of_units": of_units}
