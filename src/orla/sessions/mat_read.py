"""Sessions read from MATLAB v7.3 files in the layout of O'Doherty et al."""

from pathlib import Path

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.files import MOST_NUMBERS
from orla.progress import bar
from orla.sessions import checks, clocks, hdf5
from orla.sessions.session import Session

# Columns that each may have; the finger's are in cm, the others in mm.
_COLUMNS = {"cursor_pos": (2,), "finger_pos": (3, 6), "target_pos": (2,)}
_MOST_CELLS = 1 << 16
_MEND = "use a file in the layout of O'Doherty et al."


def read_session(path: str | Path, *, source: str = "", spikes_outside: str = "refuse") -> Session:
    """A session of O'Doherty et al. from its MATLAB v7.3 file, whose stem names it.

    Layout: Zenodo record 3854034 (doi 10.5281/zenodo.3854034). Positions are in metres, the
    fingertip as x, y in the cursor's orientation (the file holds z, -x, -y). The waveforms, most of
    the file, are never read. Of the `source` "odoherty" the file's name begins with the subject's.
    `spikes_outside` the samples of ``t``: "refuse", or "drop" where most are inside. OrlaError: no
    MATLAB v7.3 file or cut short; a variable is missing or misshapen, or its number of channels
    differs; events out of order or on another clock than the positions; nothing was recorded.
    """
    path = Path(path)
    with hdf5.open_checked(path, "MATLAB v7.3 (save -v7.3)", h5py.File) as file:
        time_s = _read_matrix(file, "t", 1).ravel()
        if time_s.size < 2:
            raise OrlaError(
                f"t: the session is empty ({time_s.size} samples); check that it is the one meant"
            )
        clocks.require_sample_times("t", time_s)
        behavior = {name: _read_position(file, name, len(time_s)) for name in _COLUMNS}
        spikes = _read_cell_references(file, "spikes")
        names = _read_cell_references(file, "chan_names").ravel()
        if len(names) != len(spikes):
            raise OrlaError(
                f"spikes has {len(spikes)} channels but chan_names {len(names)}; give both one row "
                "a channel"
            )
        texts = [_read_cell(file, "chan_names", reference) for reference in names]
        if strange := [codes.dtype for codes in texts if codes.dtype != np.uint16]:
            raise OrlaError(f"chan_names: a cell holds {strange[0]}, not text; name every channel")
        channels = [codes.tobytes().decode("utf-16-le") for codes in texts]
        checks.require_distinct("chan_names", channels)
        trains = _read_spike_trains(file, spikes, f"reading {path.name}")
        clocks.require_ascending([*trains], [times for *_, times in trains.values()])
        rows, columns, times = zip(*trains.values(), strict=True) if trains else ((), (), ())
        session = Session(
            name=path.stem,
            channels=channels,
            unit_spikes=[*times],
            unit_channel=rows,
            unit_sorted=np.array(columns) > 0,
            time_s=time_s,
            behavior=behavior,
            source=source,
            subject=path.stem.partition("_")[0] if source == "odoherty" else "",
        )
        most_outside = {"refuse": 0.0, "drop": 0.5}[spikes_outside]
        clocks.require_one_clock(session, most_outside, "set spikes_outside to drop")
    return session


def _require_variable(file: h5py.File, name: str) -> h5py.Dataset:
    """The variable of a name; OrlaError where the file has none."""
    if not isinstance(file.get(name), h5py.Dataset):
        present = ", ".join(sorted(key for key in file if not key.startswith("#"))) or "none"
        raise OrlaError(f"variable {name} is missing (the file has: {present}); {_MEND}")
    return file[name]


def _read_cell(file: h5py.File, variable: str, reference: h5py.Reference) -> np.ndarray:
    """The array that a cell of a variable refers to."""
    if not reference or not isinstance(dataset := file[reference], h5py.Dataset):
        raise OrlaError(f"{variable}: refers to no array; get the file again")
    return _read_dataset(variable, dataset)


def _read_dataset(variable: str, dataset: h5py.Dataset) -> np.ndarray:
    """The whole of one dataset; an empty MATLAB array as an array without elements."""
    if dataset.attrs.get("MATLAB_empty", 0):
        return np.empty((0, 0))
    checks.refuse_oversized(variable, dataset)
    return dataset[()]


def _read_matrix(file: h5py.File, name: str, *columns: int) -> np.ndarray:
    """A numeric variable in MATLAB's orientation, float64."""
    values = _read_dataset(name, _require_variable(file, name))
    is_matrix = values.ndim == 2 and values.dtype.kind in "fiu"
    if not is_matrix or (values.size and values.shape[0] not in columns):
        sizes = " or ".join(map(str, columns))
        shape = " x ".join(map(str, values.shape[::-1]))
        raise OrlaError(
            f"{name}: expected numbers, samples x {sizes}, found {shape} of {values.dtype}; {_MEND}"
        )
    return values.T.astype(np.float64)


def _read_position(file: h5py.File, name: str, samples: int) -> np.ndarray:
    """One position as (k, 2) x, y in metres."""
    values = _read_matrix(file, name, *_COLUMNS[name])
    if len(values) != samples:
        raise OrlaError(
            f"{name} has {len(values)} samples but t has {samples}; give both one row a sample"
        )
    return -1e-2 * values[:, 1:3] if name == "finger_pos" else 1e-3 * values


def _read_cell_references(file: h5py.File, name: str) -> np.ndarray:
    """The references of a cell array, in MATLAB's orientation."""
    dataset = _require_variable(file, name)
    if h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference or dataset.ndim != 2:
        raise OrlaError(
            f"{name}: expected a cell array, found {dataset.dtype} of shape "
            f"{dataset.shape[::-1]}; {_MEND}"
        )
    if dataset.size > _MOST_CELLS:
        raise OrlaError(f"{name}: {dataset.size} cells, more than {_MOST_CELLS}; is it damaged?")
    return _read_dataset(name, dataset).T


def _read_spike_trains(
    file: h5py.File, spikes: np.ndarray, progress_description: str
) -> dict[str, tuple[int, int, np.ndarray]]:
    """Channel, column and event times (s) of every cell that holds an event, by its name."""
    trains, addresses, numbers = {}, set(), 0
    for row in bar(range(len(spikes)), progress_description, "channel"):
        for column, reference in enumerate(spikes[row]):
            variable = f"spikes{{{row + 1},{column + 1}}}"
            times = _read_cell(file, variable, reference)
            if not times.size:
                continue
            if times.ndim != 2 or min(times.shape) != 1 or times.dtype.kind != "f":
                raise OrlaError(
                    f"{variable}: expected one column of event times, found {times.dtype} of "
                    f"shape {times.shape[::-1]}; {_MEND}"
                )
            numbers += times.size
            if (address := file[reference].id) in addresses or numbers > MOST_NUMBERS:
                raise OrlaError(f"{variable}: the events of another cell, or too many; mend it")
            addresses.add(address)
            trains[variable] = row, column, clocks.restore_time_decimals(times.ravel())
    return trains
