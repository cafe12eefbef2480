"""How recordings become streams: settings, and inputs from columns that two sessions share.

Inputs are transformed and z-scored, targets are z-scored or made categories, all by session A's
pretraining part. Nothing is fitted on session B or on A's tail, with one exception: where each
session has its own components, B's and their alignment with A's are fitted on the inputs (never the
targets) of its first steps, and B's stream begins after those steps. The dataset record says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from orla.catalogue import option
from orla.sessions import alignment
from orla.sessions.channels import require_enough, top_channels
from orla.sessions.projection import METHODS, Projection
from orla.sessions.reading import TRANSFORMS, Reading
from orla.sessions.scaling import Pair, Scaling

TARGETS = {"cursor": "cursor_pos", "finger": "finger_pos"}


@dataclass(frozen=True)
class Features:
    """The inputs of the networks."""

    method: str = option(
        "top_channels",
        "Channels of largest variance, or of all channels principal components or the factors of a "
        "factor analysis.",
        choices=("top_channels", *METHODS),
    )
    count: int = option(40, "How many inputs.", least=1)
    of: str | None = option(
        None,
        "Whose components: shared, fitted on session A and used on both; or own, each session's. "
        "null: own where channels are different or components are aligned, else shared.",
        choices=(None, "shared", "own"),
    )
    own_fit: int | float = option(
        0.2,
        "First part of session B that its own components and their alignment are fitted on, and "
        "that is then left out; a whole number of steps, or a fraction of the session.",
        above=0,
    )
    align: str | None = option(
        None,
        "How session B's own components are turned onto A's, by the loadings of the channels that "
        "both have: procrustes, of all of these; aligned_factors, of those whose factors' loadings "
        "are stable (Degenhart et al. 2020). null: not.",
        choices=(None, *alignment.METHODS),
    )
    stable: int | float = option(
        0.6,
        "Of aligned_factors: how many channels are taken as stable; a whole number, or a fraction "
        "of those that both sessions have.",
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
        choices=tuple(TRANSFORMS),
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
    """Columns of A that become inputs or that components are fitted to."""
    require_enough(pretraining.shape[1], features.count, where, "channels")
    if features.method == "top_channels":
        return top_channels(pretraining, features.count)
    return np.arange(pretraining.shape[1])


class Inputs(NamedTuple):
    """Inputs of both sessions, (steps, inputs) float64 each, and how either is read.

    stable: rows of the pairs of channels that B's components are aligned by.
    """

    a: np.ndarray
    b: np.ndarray
    readings: tuple[Reading, Reading]
    stable: np.ndarray


def inputs_of(
    raw: Pair,
    columns: tuple[np.ndarray | slice, np.ndarray | slice],
    names: list[str],
    n_pretraining: int,
    preparation: Preparation,
    where: tuple[str, str],
    b_fit_steps: int = 0,
    pairs: np.ndarray | None = None,
) -> Inputs:
    """Inputs of both sessions, z-scored by A's pretraining part.

    Args:
        raw: both sessions, (steps, columns).
        columns: those of each session that are used.
        names: of the columns that are used.
        n_pretraining: steps of A's pretraining part.
        preparation: transform and features.
        where: the sessions' names in messages.
        b_fit_steps: first steps of B to which its own components are fitted, where its columns are
            not those of A; 0 projects both sessions on the components of A.
        pairs: (channels, 2): columns of A and B that are one channel, by which B's components are
            aligned where `features.align` names a method.

    Raises:
        OrlaError: too few columns, steps or stable channels for the components, or an input that
            is constant.
    """
    a, b = (
        TRANSFORMS[preparation.transform](rows[:, indices])
        for rows, indices in zip(raw, columns, strict=True)
    )
    features, components, stable = preparation.features, None, np.array([], dtype=int)
    if features.method in METHODS:
        count, method = features.count, features.method
        names = [f"component {i + 1}" for i in range(count)]
        on_b = on_a = Projection.fit(a[:n_pretraining], count, where[0], method)
        if b_fit_steps:
            on_b = Projection.fit(b[:b_fit_steps], count, where[1], method)
        if features.align:
            on_b, stable = alignment.align(
                on_a, on_b, pairs, features.align, features.stable, where[1]
            )
        components = on_a, on_b
        a, b = on_a(a), on_b(b)
    scaling = Scaling.fit(a[:n_pretraining], names, where[0])
    readings = []
    for side, (rows, indices) in enumerate(zip(raw, columns, strict=True)):
        weights, offset = np.eye(len(scaling.sd)), -scaling.mean
        if components is not None:
            weights = components[side].weights
            offset = offset - components[side].mean @ weights
        numbers = np.arange(rows.shape[1])
        weights, offset = weights / scaling.sd, offset / scaling.sd
        readings.append(
            Reading(preparation.transform, numbers.tolist(), numbers[indices], weights, offset)
        )
    return Inputs(scaling(a), scaling(b), tuple(readings), stable)
