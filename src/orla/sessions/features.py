"""From sessions to streams: bins, input channels, scaling.

Counts are square-rooted and z-scored, targets are velocities and z-scored, both by the mean and
standard deviation of session A's pretraining part. Nothing is fitted on session B or on A's tail,
with one exception, needed where the columns of the two sessions are not the same electrodes and
stated in the dataset record: there, principal components are fitted on each session by itself, on
B from the counts (never the targets) of the steps that every split may learn on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.binned import Binned
from orla.sessions.parts import pretraining_steps
from orla.sessions.session import Session
from orla.sessions.streams import Stream, Streams

_MM_PER_M = 1000.0
_TARGETS = {"cursor": "cursor_pos", "finger": "finger_pos"}
_CONSTANT = 1e-12


@dataclass(frozen=True)
class FeatureSettings:
    """How a session becomes a stream.

    Attributes:
        bin_s: seconds a bin.
        n_inputs: input channels (or principal components) kept.
        units: "all" counts every event of a channel, unsorted crossings included; "sorted" counts
            sorted units only.
        target: "cursor" or "finger" velocity.
        lag_s: a bin's target is the velocity this many seconds after the bin (negative: before).
        reduction: "top_channels" keeps the channels of largest variance; "pca" projects the square
            roots of all channels' counts on their first principal components.
    """

    bin_s: float = 0.05
    n_inputs: int = 40
    units: str = "all"
    target: str = "cursor"
    lag_s: float = 0.0
    reduction: str = "top_channels"

    def __post_init__(self) -> None:
        _one_of("units", self.units, ("all", "sorted"))
        _one_of("target", self.target, tuple(_TARGETS))
        _one_of("reduction", self.reduction, ("top_channels", "pca"))
        if not self.bin_s > 0:
            raise OrlaError(f"bin_s: {self.bin_s} is not a bin width; give seconds > 0")
        if self.n_inputs < 1:
            raise OrlaError(f"n_inputs: {self.n_inputs} is not a number of inputs; give at least 1")


def _one_of(key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise OrlaError(f"{key}: '{value}' is not known; choose one of {', '.join(known)}")


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of each column, from the rows it was fitted on."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, names: Sequence[str], where: str) -> Scaling:
        """Fit to `rows` (steps, columns); a constant column is an error that names it."""
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        constant = np.flatnonzero(~(sd > _CONSTANT * np.maximum(1.0, np.abs(mean))))
        if constant.size:
            raise OrlaError(
                f"{where}: {names[constant[0]]} is constant over the pretraining part, so it "
                "cannot be z-scored; ask for fewer inputs, or check the recording"
            )
        return cls(mean, sd)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.sd


def bin_edges(time_s: np.ndarray, bin_s: float, lag_s: float = 0.0) -> np.ndarray:
    """Edges of the bins of a session, in seconds, (bins + 1,).

    Bins are half-open, start at the first sample, and are kept where both the bin and the bin moved
    by `lag_s` lie within the time base.
    """
    start, stop = float(time_s[0]), float(time_s[-1])
    # A time base that ends a rounding error short of an edge still holds that bin.
    slack = 1e-6 * bin_s
    count = int(np.floor((stop - start + slack) / bin_s))
    edges = start + bin_s * np.arange(count + 1)
    inside = (edges + lag_s >= start - slack) & (edges + lag_s <= stop + slack)
    return edges[inside]


def channel_counts(session: Session, edges: np.ndarray, units: str = "all") -> np.ndarray:
    """Events of each channel in each bin [edge_i, edge_i+1): int64 (bins, channels)."""
    bins = max(len(edges) - 1, 0)
    counts = np.zeros((len(session.channels), bins), dtype=np.int64)
    for spikes, channel, is_sorted in zip(
        session.unit_spikes, session.unit_channel, session.unit_sorted, strict=True
    ):
        if units == "all" or is_sorted:
            counts[channel] += np.diff(np.searchsorted(spikes, edges, side="left"))
    return np.ascontiguousarray(counts.T)


def bin_velocities(time_s: np.ndarray, position_m: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean velocity over each bin in mm/s, (bins, 2).

    The mean of a velocity over a bin is the difference of the position at its two edges over its
    width; positions (k, 2) in metres are interpolated linearly.
    """
    at_edges = np.column_stack([np.interp(edges, time_s, column) for column in position_m.T])
    return _MM_PER_M * np.diff(at_edges, axis=0) / np.diff(edges)[:, None]


def _target_velocities(
    session: Session, edges: np.ndarray, settings: FeatureSettings
) -> np.ndarray:
    name = _TARGETS[settings.target]
    if name not in session.behavior:
        known = ", ".join(sorted(session.behavior)) or "none"
        raise OrlaError(
            f"{session.name}: no {name} (there is {known}); choose another target in the config"
        )
    position = session.behavior[name]
    if not np.isfinite(position).all():
        raise OrlaError(
            f"{session.name}: {name} has NaN or infinite samples; choose another target or session"
        )
    return bin_velocities(session.time_s, position, edges + settings.lag_s)


def _binned(session: Session, settings: FeatureSettings) -> tuple[np.ndarray, np.ndarray]:
    edges = bin_edges(session.time_s, settings.bin_s, settings.lag_s)
    if len(edges) < 3:
        raise OrlaError(
            f"{session.name}: too short: {session.time_s[-1] - session.time_s[0]:.3f} s gives "
            f"{max(len(edges) - 1, 0)} bins of {settings.bin_s} s at a lag of {settings.lag_s} s; "
            "lower bin_s or the lag, or take a longer session"
        )
    counts = channel_counts(session, edges, settings.units)
    return counts, _target_velocities(session, edges, settings)


def _same_channels(session_a: Session, session_b: Session, names: Sequence[str]) -> list[int]:
    """Columns of `names` on session B."""
    columns = {name: i for i, name in enumerate(session_b.channels)}
    missing = [name for name in names if name not in columns]
    if missing:
        raise OrlaError(
            f"{session_b.name}: chan_names lacks {len(missing)} channels that {session_a.name} has "
            f"(the first is '{missing[0]}'); take two sessions of one array, or use reduction: pca "
            "on binned counts"
        )
    return [columns[name] for name in names]


def _enough(available: int, asked: int, where: str, what: str) -> None:
    if available < asked:
        raise OrlaError(
            f"{where}: {available} {what}, fewer than the {asked} inputs asked for; lower n_inputs"
        )


def top_channels(counts: np.ndarray, n_inputs: int) -> np.ndarray:
    """Columns of `counts` (steps, channels) with the largest variance, in ascending column order.

    Ties go to the earlier column.
    """
    order = np.argsort(-counts.var(axis=0), kind="stable")
    return np.sort(order[:n_inputs])


@dataclass(frozen=True)
class Projection:
    """Principal components: `weights` (columns, components), applied to rows less `mean`."""

    mean: np.ndarray
    weights: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, n_components: int, where: str) -> Projection:
        """Fit to `rows` (steps, columns). Each component's loadings sum to a positive number."""
        _enough(min(rows.shape[1], len(rows) - 1), n_components, where, "principal components")
        mean = rows.mean(axis=0)
        _, _, directions = np.linalg.svd(rows - mean, full_matrices=False)
        weights = directions[:n_components].T
        signs = np.where(weights.sum(axis=0) < 0, -1.0, 1.0)
        return cls(mean, weights * signs)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) @ self.weights


def _scaled(
    inputs: tuple[np.ndarray, np.ndarray],
    targets: tuple[np.ndarray, np.ndarray],
    input_names: Sequence[str],
    n_pretraining: int,
    where: str,
) -> tuple[Stream, Stream]:
    x = Scaling.fit(inputs[0][:n_pretraining], input_names, where)
    y = Scaling.fit(targets[0][:n_pretraining], ("velocity x", "velocity y"), where)
    return Stream(x(inputs[0]), y(targets[0])), Stream(x(inputs[1]), y(targets[1]))


def prepare(
    session_a: Session,
    session_b: Session,
    settings: FeatureSettings,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
) -> Streams:
    """Make the streams of two sessions of one array; channels are matched by name.

    Args:
        session_a: the session to pretrain on; behavior in metres, times in seconds.
        session_b: the session to adapt to.
        settings: how to bin and reduce.
        tail_steps: A's tail, as `parts.parts` takes it; nothing is fitted on it.
        dataset: name, source, simulated, label; what the features are is added under "features".

    Returns:
        Streams with X (steps, n_inputs) and Y (steps, 2), float64.

    Raises:
        OrlaError: fewer channels than inputs, a constant channel or target, a session too short, a
            channel that B lacks; the message names the session and the mend.
    """
    counts_a, velocity_a = _binned(session_a, settings)
    counts_b, velocity_b = _binned(session_b, settings)
    n_pretraining = pretraining_steps(len(counts_a), tail_steps)
    pretraining = counts_a[:n_pretraining]
    _enough(len(session_a.channels), settings.n_inputs, session_a.name, "channels")

    if settings.reduction == "top_channels":
        columns_a = top_channels(pretraining, settings.n_inputs)
    else:
        columns_a = np.arange(len(session_a.channels))
    names = [session_a.channels[i] for i in columns_a]
    columns_b = _same_channels(session_a, session_b, names)
    inputs = (np.sqrt(counts_a[:, columns_a]), np.sqrt(counts_b[:, columns_b]))

    if settings.reduction == "pca":
        projection = Projection.fit(inputs[0][:n_pretraining], settings.n_inputs, session_a.name)
        inputs = (projection(inputs[0]), projection(inputs[1]))
        input_names = [f"component {i + 1}" for i in range(settings.n_inputs)]
    else:
        input_names = [f"channel '{name}'" for name in names]

    a, b = _scaled(inputs, (velocity_a, velocity_b), input_names, n_pretraining, session_a.name)
    features = {
        "reduction": settings.reduction,
        "channels": names,
        "units": settings.units,
        "target": settings.target,
        "lag_s": settings.lag_s,
        "fitted_on": "pretraining part of session A",
    }
    return Streams(a, b, settings.bin_s, dataset | {"features": features})


def prepare_binned(
    a: Binned,
    b: Binned,
    *,
    n_inputs: int,
    tail_steps: int | float,
    b_fit_steps: int,
    dataset: dict[str, Any],
    names: tuple[str, str] = ("session A", "session B"),
) -> Streams:
    """Make the streams of two sessions that come binned and whose columns do not correspond.

    Column i of one session is not the neuron of column i of the other, so no weights fitted on A
    can be applied to B's columns. Each session is therefore reduced to the principal components of
    the square roots of its own counts: A's are fitted on its pretraining part, B's without any
    target on its first `b_fit_steps` steps, which no split scores on. Components are in order of
    variance, their signs fixed by the sum of their loadings. Scaling is by A alone.

    Args:
        a: the recording to pretrain on.
        b: the recording to adapt to; its number of columns may differ, its bins may not.
        n_inputs: components kept.
        tail_steps: A's tail, as `parts.parts` takes it.
        b_fit_steps: steps of B whose counts its components are fitted on;
            `Parts.first_selection_cut` is what every split may learn on.
        dataset: as `prepare` takes it.
        names: what errors call the two sessions.

    Raises:
        OrlaError: bins of different width, too few columns or steps for `n_inputs`, or a constant
            component or target.
    """
    if a.bin_s != b.bin_s:
        raise OrlaError(
            f"{names[1]}: bin_s is {b.bin_s:g}, but {a.bin_s:g} in {names[0]}; "
            "bin both recordings alike"
        )
    n_pretraining = pretraining_steps(len(a.counts), tail_steps)
    roots = (np.sqrt(a.counts.astype(np.float64)), np.sqrt(b.counts.astype(np.float64)))
    fits = (roots[0][:n_pretraining], roots[1][:b_fit_steps])
    inputs = tuple(
        Projection.fit(fit, n_inputs, name)(rows)
        for fit, rows, name in zip(fits, roots, names, strict=True)
    )
    input_names = [f"component {i + 1}" for i in range(n_inputs)]
    targets = (a.velocities, b.velocities)
    stream_a, stream_b = _scaled(inputs, targets, input_names, n_pretraining, names[0])
    features = {
        "reduction": "pca",
        "fitted_on": "pretraining part of session A; session B's principal components, without "
        f"targets, on its first {b_fit_steps} steps, because columns do not correspond",
    }
    return Streams(stream_a, stream_b, a.bin_s, dataset | {"features": features})
