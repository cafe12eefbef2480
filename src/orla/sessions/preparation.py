"""How recordings become streams: settings.

Inputs are transformed and z-scored, targets are z-scored or made categories, all by session A's
pretraining part. Nothing is fitted on session B or on A's tail, with one exception: where each
session has its own components, B's and their alignment with A's are fitted on the inputs (never the
targets) of its first steps, and B's stream begins after those steps. The dataset record says so.
"""

from dataclasses import dataclass, field

from orla.catalogue import option
from orla.sessions.input_transform import ALIGNMENTS, METHODS, TRANSFORMS

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
        choices=(None, *ALIGNMENTS),
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
