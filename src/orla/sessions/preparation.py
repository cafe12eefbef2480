"""How recordings become streams: settings, and inputs from columns that two sessions share.

Inputs are transformed and z-scored, targets are z-scored or made categories, all by session A's
pretraining part. Nothing is fitted on session B or on A's tail, with one exception: where each
session has its own principal components, B's are fitted on the inputs (never the targets) of its
first steps, and B's stream begins after those steps. The dataset record says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orla.catalogue import option
from orla.sessions.channels import require_enough, top_channels
from orla.sessions.projection import Projection
from orla.sessions.scaling import Pair, scaled

_TRANSFORMS = {"sqrt": np.sqrt, "absolute": np.abs, "none": np.float64}
TARGETS = {"cursor": "cursor_pos", "finger": "finger_pos"}


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
        "session's. null: own where channels are different, else shared.",
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
        "sqrt",
        "What is done to inputs before they are z-scored: the root, of counts; the absolute value, "
        "of signals that swing about zero, such as EMG; or nothing.",
        choices=tuple(_TRANSFORMS),
    )
    features: Features = field(default_factory=Features)
    target: Target = field(default_factory=Target)
    least_kept: float = option(
        0.5,
        "Least share of a recording that becomes steps, where gaps and NaN are left out; of a "
        "recording with less nothing is made.",
        least=0,
        most=1,
    )


def columns_of(pretraining: np.ndarray, features: Features, where: str) -> np.ndarray:
    """Columns of A that become inputs or that principal components are fitted to."""
    require_enough(pretraining.shape[1], features.count, where, "channels")
    if features.method == "top_channels":
        return top_channels(pretraining, features.count)
    return np.arange(pretraining.shape[1])


def inputs_of(
    raw: Pair,
    names: list[str],
    n_pretraining: int,
    preparation: Preparation,
    where: tuple[str, str],
    b_fit_steps: int | None = None,
) -> Pair:
    """Inputs of both sessions, (steps, inputs) float64, z-scored by A's pretraining part.

    Args:
        raw: columns of both sessions, (steps, columns).
        names: the columns' names.
        n_pretraining: steps of A's pretraining part.
        preparation: transform and features.
        where: the sessions' names in messages.
        b_fit_steps: first steps of B to which its own components are fitted, where its columns are
            not those of A; None projects both sessions on the components of A.

    Raises:
        OrlaError: too few columns or steps for the components, or an input that is constant.
    """
    a, b = (_TRANSFORMS[preparation.transform](rows) for rows in raw)
    if preparation.features.method == "pca":
        count = preparation.features.count
        names = [f"component {i + 1}" for i in range(count)]
        on_b = on_a = Projection.fit(a[:n_pretraining], count, where[0])
        if b_fit_steps is not None:
            on_b = Projection.fit(b[:b_fit_steps], count, where[1])
        a, b = on_a(a), on_b(b)
    return scaled((a, b), n_pretraining, names, where[0])
