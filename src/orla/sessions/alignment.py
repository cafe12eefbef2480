"""Alignment of session B's components with those of session A, by loadings of shared channels."""

from __future__ import annotations

import numpy as np
from scipy.linalg import orthogonal_procrustes

from orla.errors import OrlaError
from orla.sessions.channels import require_enough
from orla.sessions.projection import Projection

METHODS = ("procrustes", "aligned_factors")
# Channels whose loadings are shorter than this say nothing of the factors.
_LEAST_LOADING = 0.01


def rotation(on_a: np.ndarray, on_b: np.ndarray) -> np.ndarray:
    """The orthogonal matrix by which loadings of B come nearest to those of A.

    Both are (channels, components), row i of one channel (Schoenemann 1966, Psychometrika 31:1).
    """
    return orthogonal_procrustes(on_b, on_a)[0]


def stable_channels(on_a: np.ndarray, on_b: np.ndarray, count: int) -> np.ndarray:
    """Rows of the channels whose loadings changed least, in ascending order.

    Of all channels with loadings on both days the one that lies farthest from its place on A, after
    the best rotation of those that are left, is taken out, until `count` are left (Degenhart et al.
    2020, Nature Biomedical Engineering 4:672).
    """
    length = np.minimum(*(np.linalg.norm(rows, axis=1) for rows in (on_a, on_b)))
    rows = np.flatnonzero(length >= _LEAST_LOADING)
    while len(rows) > count:
        a, b = on_a[rows], on_b[rows]
        distance = np.linalg.norm(b @ rotation(a, b) - a, axis=1)
        rows = np.delete(rows, distance.argmax())
    return rows


def align(
    on_a: Projection,
    on_b: Projection,
    pairs: np.ndarray,
    method: str,
    stable: int | float,
    where: str,
) -> tuple[Projection, np.ndarray]:
    """B's components turned onto A's, and the rows of `pairs` that the rotation is fitted on.

    Args:
        on_a, on_b: each session's own components.
        pairs: (channels, 2): columns of A and of B that are one channel.
        method: one of `METHODS`.
        stable: of "aligned_factors": how many channels are stable, or a fraction of those shared.
        where: B's name in messages.

    Raises:
        OrlaError: fewer shared or stable channels than components.
    """
    components, rows = on_a.loadings.shape[1], np.arange(len(pairs))
    a, b = on_a.loadings[pairs[:, 0]], on_b.loadings[pairs[:, 1]]
    require_enough(len(pairs), components, where, "channels that both sessions have")
    if method == "aligned_factors":
        count = stable if isinstance(stable, int) else round(stable * len(pairs))
        if count > len(pairs):
            raise OrlaError(
                f"{where}: features.stable is {count} of {len(pairs)} channels that both sessions "
                "have; lower it"
            )
        rows = stable_channels(a, b, count)
        if len(rows) < components:
            raise OrlaError(
                f"{where}: {len(rows)} stable channels, fewer than the {components} factors that "
                "they align; lower features.count, or raise features.stable"
            )
    return on_b.rotate(rotation(a[rows], b[rows])), rows
