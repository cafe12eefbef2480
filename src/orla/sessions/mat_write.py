"""Sessions written as MATLAB v7.3 files in the layout of O'Doherty et al."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orla.errors import OrlaError
from orla.sessions import matlab73


def write_session(
    path: str | Path,
    *,
    chan_names: Sequence[str],
    t: np.ndarray,
    cursor_pos: np.ndarray,
    finger_pos: np.ndarray,
    target_pos: np.ndarray,
    spikes: Sequence[Sequence[np.ndarray]],
    wf: Sequence[Sequence[np.ndarray]] | None = None,
) -> None:
    """Write a session in the layout of the Zenodo record 3854034, names and units as there.

    The same arguments give the same bytes.

    Args:
        path: the .mat file; it appears whole or not at all.
        chan_names: n channel names, such as ``M1 001``.
        t: (k,) sample times in seconds, in steps of 4 ms.
        cursor_pos: (k, 2) cursor x, y in mm.
        finger_pos: (k, 3) fingertip z, -x, -y in cm; with 6 columns azimuth, elevation, roll too.
        target_pos: (k, 2) target x, y in mm.
        spikes: n rows of u arrays of event times in seconds; the first of a row holds the
            unsorted threshold crossings of that channel, the others its sorted units.
        wf: n rows of u arrays (samples, events) of waveform snippets in microvolts, or None.

    Raises:
        OrlaError: shapes disagree, or the disk is full.
    """
    n, k = len(chan_names), len(t)
    widths = {len(row) for row in spikes}
    shapes = {np.shape(cursor_pos), np.shape(target_pos), (k, 2)}
    if len(spikes) != n or len(widths) != 1 or len(shapes) != 1 or len(finger_pos) != k:
        raise OrlaError(
            f"{path}: cannot write the session: spikes needs {n} rows of equal length, "
            f"cursor_pos and target_pos ({k}, 2), finger_pos ({k}, 3); mend the arrays given"
        )
    with matlab73.create(path) as file:
        matlab73.write_cells(file, "chan_names", [[name] for name in chan_names])
        matlab73.write_array(file, "t", _column(t))
        matlab73.write_array(file, "cursor_pos", np.asarray(cursor_pos, float))
        matlab73.write_array(file, "finger_pos", np.asarray(finger_pos, float))
        matlab73.write_array(file, "target_pos", np.asarray(target_pos, float))
        matlab73.write_cells(file, "spikes", [[_column(times) for times in row] for row in spikes])
        if wf is not None:
            matlab73.write_cells(file, "wf", wf)


def _column(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=float).reshape(-1, 1)
