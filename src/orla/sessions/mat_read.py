"""Sessions read from MATLAB v7.3 files in the layout of O'Doherty et al."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.progress import bar
from orla.sessions import checks, hdf5
from orla.sessions.session import Session

STEP_S = 0.004
STEP_TOLERANCE_S = 1e-4
POSITIONS = ("cursor_pos", "finger_pos", "target_pos")

_COLUMNS = {"cursor_pos": (2,), "finger_pos": (3, 6), "target_pos": (2,)}
_METRES_PER_MM = 1e-3
_METRES_PER_CM = 1e-2


def read_session(
    path: str | Path,
    *,
    source: str = "",
    positions: Sequence[str] = POSITIONS,
    spikes_outside: Literal["refuse", "drop"] = "refuse",
) -> Session:
    """Read a session of O'Doherty et al. from its MATLAB v7.3 file.

    Layout: Zenodo record 3854034 (doi 10.5281/zenodo.3854034). Positions are in metres, the
    fingertip as x, y in the cursor's orientation (the file holds z, -x, -y).

    Args:
        path: the .mat file; its stem names the session.
        source: one sentence on where the recording comes from, kept in the session.
        positions: which of cursor_pos, finger_pos, target_pos to read and check.
        spikes_outside: what to do with events before the first or after the last sample of
            ``t``: "refuse" the file, or "drop" the events. A file with most events outside is
            always refused: its variables have different clocks or units of time.

    Raises:
        OrlaError: the file is no MATLAB v7.3 file or is cut short; a variable is missing or
            misshapen, or its number of channels differs; events are not in order or lie outside
            the time base; a position is not finite; the time base has gaps; nothing was recorded.
    """
    path = Path(path)
    with _opened(path) as file:
        time_s = _time_base(path, file)
        behavior = {name: _position(path, file, name, time_s) for name in positions}
        spikes = _cells(path, file, "spikes")
        names = _cells(path, file, "chan_names").ravel()
        if len(names) != spikes.shape[0]:
            raise OrlaError(
                f"{path}: spikes has {spikes.shape[0]} channels but chan_names {len(names)}; "
                "give both one row a channel"
            )
        channels = [_text(path, file, reference) for reference in names]
        checks.require_distinct(path, "chan_names", channels)
        units = list(_units(path, file, spikes, time_s, spikes_outside == "drop"))
    if spikes_outside == "drop":
        units = _drop_outside(path, units, time_s)
    if not units:
        raise OrlaError(
            f"{path}: spikes: the session is empty, no channel has an event; "
            "check that the recording is the one meant"
        )
    rows, columns, times = zip(*units, strict=True)
    return Session(
        name=path.stem,
        channels=channels,
        unit_spikes=list(times),
        unit_channel=np.array(rows),
        unit_sorted=np.array(columns) > 0,
        time_s=time_s,
        behavior=behavior,
        source=source,
    )


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    if not path.is_file():
        raise OrlaError(f"{path}: there is no such file; download it or mend the path")
    if not h5py.is_hdf5(path):
        raise OrlaError(
            f"{path}: not a MATLAB v7.3 (HDF5) file; download it again, "
            "or save it in MATLAB with -v7.3"
        )
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise OrlaError(
            f"{path}: cannot be opened as HDF5, it is cut short or damaged "
            f"({hdf5.first_line(error)}); delete it and download it again"
        ) from error
    with file, hdf5.damage_told(path, "MATLAB v7.3"):
        yield file


def _variable(path: Path, file: h5py.File, name: str) -> h5py.Dataset:
    if not isinstance(file.get(name), h5py.Dataset):
        present = ", ".join(sorted(key for key in file if not key.startswith("#"))) or "none"
        raise OrlaError(
            f"{path}: variable {name} is missing (the file has: {present}); "
            "use a file in the layout of O'Doherty et al."
        )
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or file[name].external:
        raise OrlaError(
            f"{path}: variable {name} is a link to another file; use a file that holds it itself"
        )
    return file[name]


def _read(path: Path, variable: str, dataset: h5py.Dataset) -> np.ndarray:
    """The whole of one dataset; an empty MATLAB array as an array without elements."""
    if dataset.attrs.get("MATLAB_empty", 0):
        return np.empty((0, 0))
    checks.require_size(path, variable, dataset)
    try:
        return dataset[()]
    except OSError as error:
        raise OrlaError(
            f"{path}: {variable}: cannot be read, the file is damaged "
            f"({hdf5.first_line(error)}); delete it and download it again"
        ) from error


def _matrix(path: Path, file: h5py.File, name: str, columns: Sequence[int]) -> np.ndarray:
    """A numeric variable in MATLAB's orientation, float64."""
    values = _read(path, name, _variable(path, file, name))
    wanted = " or ".join(str(column) for column in columns)
    if (
        values.ndim != 2
        or values.dtype.kind not in "fiu"
        or (values.size and values.shape[0] not in columns)
    ):
        shape = " x ".join(str(size) for size in values.shape[::-1])
        raise OrlaError(
            f"{path}: {name}: expected numbers, samples x {wanted}, found {shape} of "
            f"{values.dtype}; use a file in the layout of O'Doherty et al."
        )
    return values.T.astype(np.float64)


def _time_base(path: Path, file: h5py.File) -> np.ndarray:
    time_s = _matrix(path, file, "t", (1,)).ravel()
    if time_s.size < 2:
        raise OrlaError(
            f"{path}: t: the session is empty ({time_s.size} samples); "
            "check that the recording is the one meant"
        )
    checks.require_steady(path, "t", time_s, STEP_S, STEP_TOLERANCE_S)
    return time_s


def _position(path: Path, file: h5py.File, name: str, time_s: np.ndarray) -> np.ndarray:
    """One position as (k, 2) x, y in metres."""
    if name not in _COLUMNS:
        raise OrlaError(f"{path}: {name} is no position; choose from {', '.join(POSITIONS)}")
    values = _matrix(path, file, name, _COLUMNS[name])
    if len(values) != len(time_s):
        raise OrlaError(
            f"{path}: {name} has {len(values)} samples but t has {len(time_s)}; "
            "give both one row a sample"
        )
    checks.require_finite(path, name, values[:, :3], time_s)
    if name == "finger_pos":
        return -_METRES_PER_CM * values[:, 1:3]
    return _METRES_PER_MM * values


def _cells(path: Path, file: h5py.File, name: str) -> np.ndarray:
    """The references of a cell array, in MATLAB's orientation."""
    dataset = _variable(path, file, name)
    if h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference or dataset.ndim != 2:
        raise OrlaError(
            f"{path}: {name}: expected a cell array, found {dataset.dtype} of shape "
            f"{dataset.shape[::-1]}; use a file in the layout of O'Doherty et al."
        )
    return _read(path, name, dataset).T


def _cell(path: Path, file: h5py.File, variable: str, reference: h5py.Reference) -> np.ndarray:
    try:
        dataset = file[reference]
    except (ValueError, KeyError) as error:
        raise OrlaError(
            f"{path}: {variable}: the cell refers to nothing, the file is damaged; "
            "delete it and download it again"
        ) from error
    return _read(path, variable, dataset)


def _text(path: Path, file: h5py.File, reference: h5py.Reference) -> str:
    codes = _cell(path, file, "chan_names", reference)
    if codes.dtype != np.uint16:
        raise OrlaError(
            f"{path}: chan_names: a cell holds {codes.dtype}, not text; name every channel"
        )
    return codes.tobytes().decode("utf-16-le")


def _units(
    path: Path, file: h5py.File, spikes: np.ndarray, time_s: np.ndarray, drop: bool
) -> Iterator[tuple[int, int, np.ndarray]]:
    """(channel, column, event times in seconds) of every cell that holds an event."""
    for row in bar(range(spikes.shape[0]), f"reading {path.name}", "channel"):
        for column in range(spikes.shape[1]):
            variable = f"spikes{{{row + 1},{column + 1}}}"
            times = _cell(path, file, variable, spikes[row, column])
            if times.size and (times.ndim != 2 or min(times.shape) != 1 or times.dtype.kind != "f"):
                raise OrlaError(
                    f"{path}: {variable}: expected one column of event times, found "
                    f"{times.dtype} of shape {times.shape[::-1]}; use a file in the layout of "
                    "O'Doherty et al."
                )
            times = times.ravel().astype(np.float64)
            checks.require_ascending(path, variable, times)
            if not drop:
                checks.require_inside(path, variable, times, time_s, "set spikes_outside to drop")
            if times.size:
                yield row, column, times


def _drop_outside(
    path: Path, units: list[tuple[int, int, np.ndarray]], time_s: np.ndarray
) -> list[tuple[int, int, np.ndarray]]:
    """The units with only their events inside the time base, those without any left out."""
    inside = [times[(times >= time_s[0]) & (times <= time_s[-1])] for *_, times in units]
    total, kept = sum(len(times) for *_, times in units), sum(map(len, inside))
    if 2 * kept < total:
        raise OrlaError(
            f"{path}: spikes: {total - kept} of {total} events lie outside the time base "
            f"({time_s[0]:g} to {time_s[-1]:g} s); check that both are in seconds on one clock"
        )
    return [(*unit[:2], times) for unit, times in zip(units, inside, strict=True) if times.size]
