"""Binning: edges, counts of events and mean velocities of the bins of a session."""

from __future__ import annotations

import numpy as np

from orla.sessions.session import Session

_MM_PER_M = 1000.0


def rounding_of(time_s: np.ndarray) -> float:
    """Seconds by which a computed time may miss the same time as it is stored."""
    return 4 * float(np.spacing(np.abs(time_s[[0, -1]]).max()))


def bin_edges(time_s: np.ndarray, bin_s: float, lag_s: float = 0.0) -> np.ndarray:
    """Edges of the bins of a session, in seconds, (bins + 1,).

    Bins are half-open, start at the first sample, and are kept where both the bin and the bin moved
    by `lag_s` lie within the time base.
    """
    start, stop = float(time_s[0]), float(time_s[-1])
    # A time base that ends a rounding error short of an edge still holds that bin.
    slack = max(1e-6 * bin_s, rounding_of(time_s))
    count = int(np.floor((stop - start + slack) / bin_s))
    edges = start + bin_s * np.arange(count + 1)
    inside = (edges + lag_s >= start - slack) & (edges + lag_s <= stop + slack)
    return edges[inside]


def channel_counts(session: Session, edges: np.ndarray, units: str = "all") -> np.ndarray:
    """Events of each channel in each bin [edge_i, edge_i+1): int64 (bins, channels).

    An event a rounding error before an edge is on the edge: the edges are computed too.
    """
    bins = max(len(edges) - 1, 0)
    counts = np.zeros((len(session.channels), bins), dtype=np.int64)
    if bins:
        edges = edges - rounding_of(edges)
        for spikes, channel, is_sorted in zip(
            session.unit_spikes, session.unit_channel, session.unit_sorted, strict=True
        ):
            if units == "all" or is_sorted:
                counts[channel] += np.diff(np.searchsorted(spikes, edges, side="left"))
    return np.ascontiguousarray(counts.T)


def bin_velocities(time_s: np.ndarray, position_m: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean velocity over each bin in mm/s, (bins, d).

    The mean of a velocity over a bin is the difference of the position at its two edges over its
    width; positions (k, d) in metres are interpolated linearly.
    """
    at_edges = np.column_stack([np.interp(edges, time_s, column) for column in position_m.T])
    return _MM_PER_M * np.diff(at_edges, axis=0) / np.diff(edges)[:, None]
