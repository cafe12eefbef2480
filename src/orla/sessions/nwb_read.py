"""Sessions read from NWB files: ours, and those of others such as DANDI 000129 (MC_RTT)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pynwb
from hdmf.common import VectorIndex
from pynwb.behavior import SpatialSeries
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks
from orla.sessions.session import Session

_METRES = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "cm": 1e-2, "centimeter": 1e-2, "centimeters": 1e-2, "centimetres": 1e-2,
    "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3, "millimetres": 1e-3,
    "um": 1e-6, "micrometer": 1e-6, "micrometers": 1e-6,
}  # fmt: skip
_CHANNEL_COLUMNS = ("channel_name", "electrode_name", "label", "channel")
_CURSOR = "cursor_pos"
_PREFERRED = (_CURSOR, "cursor_position", "finger_pos", "hand_pos", "hand_position")


def read_session(
    path: str | Path,
    *,
    cursor: str | None = None,
    metres_per_unit: float | None = None,
    trim: bool = False,
) -> Session:
    """Read units and positions of an NWB file, ours or another's (such as DANDI 000129, MC_RTT).

    Args:
        path: the .nwb file.
        cursor: name of the SpatialSeries to take as ``cursor_pos``; by default the one of that
            name, else a finger's or hand's, else the only one there is.
        metres_per_unit: length of one stored unit (after the file's own conversion) where the
            file names a unit that is no length; None trusts the file.
        trim: keep the longest stretch without gaps in the time base, NaN or unobserved spikes,
            and drop the spikes outside; otherwise such a file is an error.

    Returns:
        The session. Series on other sample times than ``cursor_pos`` are left out; of series
        with three columns x and y are kept. Without a column ``sorted`` all units count as
        sorted; units without electrodes get a channel each.

    Raises:
        OrlaError: not an NWB file, no units, no 2-D SpatialSeries, an unknown unit of length,
            spikes not in order; without trim also gaps, NaN, and spikes outside the time base.
    """
    path = Path(path)
    with _opened(path) as file:
        units = _require_units(path, file)
        series = _spatial_series(file)
        chosen = _choose(path, series, cursor)
        time_s = _timestamps(path, series[chosen])
        behavior = _behavior(path, file, series, chosen, time_s, metres_per_unit)
        channels, areas, unit_channel = _channels(file, units)
        session = Session(
            name=file.session_id or path.stem,
            channels=channels,
            unit_spikes=_spike_times(path, units),
            unit_channel=unit_channel,
            unit_sorted=_unit_sorted(units),
            time_s=time_s,
            behavior=behavior,
            areas=areas,
            source=file.session_description or "",
        )
        recorded = _recorded(units, session)
    if trim:
        _trim(path, session, recorded)
    _check(path, session)
    return session


@contextmanager
def _opened(path: Path) -> Iterator[pynwb.NWBFile]:
    if not path.is_file():
        raise OrlaError(f"{path}: there is no such file; mend the path")
    try:
        io = pynwb.NWBHDF5IO(str(path), mode="r", load_namespaces=True)
        file = io.read()
    except Exception as error:  # pynwb and hdmf raise many kinds for a file that is no NWB
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OrlaError(
            f"{path}: cannot be read as NWB, it is another format, cut short or damaged "
            f"({reason}); get the file again"
        ) from error
    with io:
        yield file


def _require_units(path: Path, file: pynwb.NWBFile) -> Units:
    units = file.units
    if units is None or len(units) == 0 or "spike_times" not in units.colnames:
        raise OrlaError(f"{path}: units: no unit with spike_times; use a file with sorted spikes")
    return units


def _spatial_series(file: pynwb.NWBFile) -> dict[str, SpatialSeries]:
    """Every SpatialSeries with two or three columns, by name (with its container's if need be)."""
    found: dict[str, SpatialSeries] = {}
    for item in _series(file):
        if isinstance(item, SpatialSeries) and _is_planar(item):
            name = f"{item.parent.name}/{item.name}" if item.name in found else item.name
            found[name] = item
    return found


def _series(file: pynwb.NWBFile) -> list[pynwb.TimeSeries]:
    """Every TimeSeries of a file, by name: pynwb lists them in no order of the file's."""
    series = [item for item in file.objects.values() if isinstance(item, pynwb.TimeSeries)]
    return sorted(series, key=lambda item: (item.name, item.parent.name))


def _is_planar(series: pynwb.TimeSeries) -> bool:
    shape = np.shape(series.data)
    return len(shape) == 2 and shape[1] in (2, 3)


def _velocities(file: pynwb.NWBFile) -> dict[str, pynwb.TimeSeries]:
    """Every plain TimeSeries with two or three columns whose name ends in _vel, by name."""
    return {
        item.name: item
        for item in _series(file)
        if not isinstance(item, SpatialSeries) and item.name.endswith("_vel") and _is_planar(item)
    }


def _choose(path: Path, series: Mapping[str, SpatialSeries], cursor: str | None) -> str:
    names = ", ".join(series) or "none"
    if cursor is not None:
        if cursor not in series:
            raise OrlaError(f"{path}: there is no 2-D SpatialSeries {cursor}; there are: {names}")
        return cursor
    for name in _PREFERRED:
        if name in series:
            return name
    if len(series) != 1:
        raise OrlaError(
            f"{path}: which 2-D SpatialSeries is the cursor's position? There are: {names}; "
            + ("name one of them as cursor" if series else "use a file that has one")
        )
    return next(iter(series))


def _timestamps(path: Path, series: pynwb.TimeSeries) -> np.ndarray:
    if series.timestamps is not None:
        time_s = np.asarray(series.timestamps[:], dtype=np.float64)
    else:
        time_s = (series.starting_time or 0.0) + np.arange(len(series.data)) / series.rate
    if len(time_s) != len(series.data) or len(time_s) < 2:
        raise OrlaError(
            f"{path}: {series.name} has {len(series.data)} samples and {len(time_s)} times; "
            "give each sample its time, and two samples or more"
        )
    return time_s


def _behavior(
    path: Path,
    file: pynwb.NWBFile,
    series: Mapping[str, SpatialSeries],
    chosen: str,
    time_s: np.ndarray,
    metres_per_unit: float | None,
) -> dict[str, np.ndarray]:
    """(k, 2) positions in metres, the chosen one as cursor_pos; and velocities in metres per s."""
    behavior = {_CURSOR: _metric(path, series[chosen], "", metres_per_unit)}
    velocities = _velocities(file)
    for name, item in {**series, **velocities}.items():
        if name in (chosen, _CURSOR) or len(item.data) != len(time_s):
            continue
        if np.allclose(_timestamps(path, item), time_s, rtol=0, atol=1e-9):
            per = "/s" if name in velocities else ""
            behavior[name] = _metric(path, item, per, metres_per_unit)
    return behavior


def _metric(
    path: Path, series: pynwb.TimeSeries, per: str, metres_per_unit: float | None
) -> np.ndarray:
    """x and y of a series in metres (or metres per second)."""
    unit = (series.unit or "").strip().lower()
    length = unit.removesuffix("/s").removesuffix("/sec").removesuffix(" per second").strip()
    scale = metres_per_unit if metres_per_unit is not None else _METRES.get(length)
    if scale is None:
        raise OrlaError(
            f"{path}: {series.name} is in '{series.unit}', which is no length{per}; "
            "give metres_per_unit"
        )
    values = np.asarray(series.data[:, :2], dtype=np.float64)
    return scale * (values * series.conversion + (series.offset or 0.0))


def _channels(file: pynwb.NWBFile, units: Units) -> tuple[list[str], list[str], np.ndarray]:
    """Names and areas of the channels, and each unit's (its first electrode)."""
    ids = units.id[:]
    if "electrodes" not in units.colnames or file.electrodes is None:
        return [f"unit {i}" for i in ids], ["unknown"] * len(ids), np.arange(len(ids))
    table = file.electrodes
    column = next((name for name in _CHANNEL_COLUMNS if name in table.colnames), None)
    names = table[column].data[:] if column else [f"electrode {i}" for i in table.id[:]]
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    areas = [str(area) for area in table["location"].data[:]] if "location" in table else []
    electrodes = units["electrodes"]
    if isinstance(electrodes, VectorIndex):
        ends = np.asarray(electrodes.data[:], dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        return names, areas, np.asarray(electrodes.target.data[:])[starts]
    return names, areas, np.asarray(electrodes.data[:])


def _spike_times(path: Path, units: Units) -> list[np.ndarray]:
    index = units["spike_times"]
    ends = np.asarray(index.data[:], dtype=np.int64)
    times = np.asarray(index.target.data[:], dtype=np.float64)
    spikes = np.split(times, ends[:-1])
    for unit, train in zip(units.id[:], spikes, strict=True):
        checks.require_ascending(path, f"units, unit {unit}, spike_times", train)
    return spikes


def _unit_sorted(units: Units) -> np.ndarray:
    if "sorted" in units.colnames:
        return np.asarray(units["sorted"].data[:], dtype=bool)
    return np.ones(len(units), dtype=bool)


def _recorded(units: Units, session: Session) -> np.ndarray:
    """(k,) where positions are finite and every unit was observed."""
    time_s = session.time_s
    recorded = np.all([np.isfinite(x).all(axis=1) for x in session.behavior.values()], axis=0)
    if "obs_intervals" not in units.colnames:
        return recorded
    column = units["obs_intervals"]
    intervals = np.asarray(column.target.data[:], dtype=np.float64)
    ends = np.asarray(column.data[:], dtype=np.int64)
    distinct = {x.tobytes(): x for x in np.split(intervals, ends[:-1]) if len(x)}
    step = np.median(np.diff(time_s))
    for observed in distinct.values():
        seen = np.zeros(len(time_s), dtype=bool)
        for start, stop in observed:
            # Half a step more, so that intervals that touch leave no sample between them.
            first, last = np.searchsorted(time_s, [start - step / 2, stop + step / 2])
            seen[first:last] = True
        recorded &= seen
    return recorded


def _breaks(time_s: np.ndarray) -> np.ndarray:
    """Indices after which the time base does not go on by its usual step."""
    steps = np.diff(time_s)
    usual = np.median(steps)
    return np.flatnonzero(np.abs(steps - usual) > 0.5 * usual)


def _trim(path: Path, session: Session, recorded: np.ndarray) -> None:
    """Cut a session, in place, to its longest stretch recorded without a gap."""
    changes = np.concatenate([_breaks(session.time_s), np.flatnonzero(np.diff(recorded))]) + 1
    edges = np.concatenate([[0], np.unique(changes), [len(recorded)]])
    lengths = np.where(recorded[edges[:-1]], np.diff(edges), 0)
    best = int(np.argmax(lengths))
    if lengths[best] < 2:
        raise OrlaError(
            f"{path}: no stretch in which position and all units were recorded; use another file"
        )
    kept = slice(edges[best], edges[best + 1])
    whole = session.time_s
    session.time_s = whole[kept]
    session.behavior = {name: values[kept] for name, values in session.behavior.items()}
    first, last = session.time_s[[0, -1]]
    session.unit_spikes = [x[(x >= first) & (x <= last)] for x in session.unit_spikes]
    if len(session.time_s) < len(whole):
        session.source += (
            f" Cut to the longest stretch without gaps: {first:g} to {last:g} s of "
            f"{whole[0]:g} to {whole[-1]:g} s."
        )


def _check(path: Path, session: Session) -> None:
    time_s = session.time_s
    gaps = _breaks(time_s)
    if gaps.size:
        usual = np.median(np.diff(time_s))
        checks.require_steady(path, "behavior", time_s, usual, 0.5 * usual)
    for name, values in session.behavior.items():
        checks.require_finite(path, name, values, time_s)
    for channel, times in zip(session.unit_channel, session.unit_spikes, strict=True):
        variable = f"units on {session.channels[channel]}"
        checks.require_inside(path, variable, times, time_s, "import the file with trim")
    if not any(times.size for times in session.unit_spikes):
        raise OrlaError(f"{path}: units: the session is empty, no unit has a spike; use another")
