"""Helpers of probes: parameters of a network's two parts, and medians of a series."""

from __future__ import annotations

import numpy as np

from orla.architectures.base import Parameters


def apart(values: Parameters, recurrent: Parameters) -> tuple[Parameters, Parameters]:
    """The values of the recurrent parameters, and those of the readout's."""
    inner = {name: v for name, v in values.items() if name in recurrent}
    return inner, {name: v for name, v in values.items() if name not in recurrent}


def medians(values: np.ndarray) -> np.ndarray:
    """Medians (models,) over the updates (models, updates) that are not NaN; NaN where none is."""
    finite = (row[~np.isnan(row)] for row in values)
    return np.array([float(np.median(row)) if row.size else np.nan for row in finite])
