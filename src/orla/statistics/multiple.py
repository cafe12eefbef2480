"""Correction of a family of p values."""

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.multitest import multipletests

from orla.errors import OrlaError


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's adjusted p values: compare each with the level of the whole family.

    Args:
        p: (n,) p values in [0, 1], in any order.

    Returns:
        (n,) adjusted p values in the order given, at most 1; empty for none.

    Raises:
        OrlaError: A value is not in [0, 1].

    Source: Holm (1979), Scand. J. Statist. 6, 65.
    """
    p = np.asarray(p, dtype=float).ravel()
    if not ((p >= 0) & (p <= 1)).all():
        raise OrlaError(f"holm: {p.tolist()} has a value outside [0, 1]; give p values")
    return multipletests(p, method="holm")[1] if p.size else p
