"""Sessions read from NWB files: of `nwb_write`, or others such as DANDI 000129 (MC_RTT)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pynwb
from pynwb.behavior import SpatialSeries

from orla.errors import OrlaError
from orla.sessions import hdf5
from orla.sessions.nwb_fields import numbers
from orla.sessions.nwb_trim import cut_to_longest, recorded_samples, require_whole
from orla.sessions.nwb_units import channels_of, sorted_units, spike_times
from orla.sessions.nwb_write import TAKEN_FROM
from orla.sessions.session import Session

_METRES = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "cm": 1e-2, "centimeter": 1e-2, "centimeters": 1e-2, "centimetres": 1e-2,
    "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3, "millimetres": 1e-3,
    "um": 1e-6, "micrometer": 1e-6, "micrometers": 1e-6,
}  # fmt: skip
_CURSOR = "cursor_pos"


def read_session(
    path: str | Path,
    *,
    cursor: str | None = None,
    metres_per_unit: float | None = None,
    trim: bool = False,
) -> Session:
    """Read units and positions of any NWB file, such as those of DANDI 000129 (MC_RTT).

    Args:
        path: the .nwb file.
        cursor: name of the SpatialSeries to take as ``cursor_pos``; by default the one of that
            name, else the only one, which is then named on stderr.
        metres_per_unit: length of one stored unit (after the file's own conversion); None for
            files that name a unit of length.
        trim: keep the longest stretch without gaps in the time base, NaN or unobserved spikes,
            and drop the spikes outside; otherwise such a file is an error. The part that is kept
            is printed on stderr; a file of which less than half is kept is refused.

    Returns:
        The session. Series on other sample times than ``cursor_pos`` and series in an unknown
        unit are left out; of series with three columns x and y are kept. Without a column
        ``sorted`` all units count as sorted; units without electrodes get a channel each.

    Raises:
        OrlaError: not an NWB file or a damaged one, no units, no 2-D SpatialSeries, an unknown
            unit of the cursor, two channels of one name, spikes not in order; without trim also
            gaps, NaN, and spikes outside the time base.
    """
    path = Path(path)
    with hdf5.reading(path, "NWB", _opened) as file:
        units = file.units
        if units is None or len(units) == 0 or "spike_times" not in units.colnames:
            raise OrlaError("units: no unit with spike_times; use a file with sorted spikes")
        series = _planar_series(file)
        own = _cursor(path, series, cursor)
        time_s = _timestamps(own)
        behavior = _behavior(own, series, time_s, metres_per_unit)
        channels, areas, unit_channel = channels_of(file, units)
        session = Session(
            name=file.session_id or path.stem,
            channels=channels,
            unit_spikes=spike_times(units),
            unit_channel=unit_channel,
            unit_sorted=sorted_units(units),
            time_s=time_s,
            behavior=behavior,
            areas=areas,
            source=file.session_description or "",
            cursor=_original_name(own),
        )
        if trim:
            cut_to_longest(session, recorded_samples(units, session))
        require_whole(session)
    return session


@contextmanager
def _opened(path: Path) -> Iterator[pynwb.NWBFile]:
    with pynwb.NWBHDF5IO(str(path), mode="r", load_namespaces=True) as io:
        yield io.read()


def _planar_series(file: pynwb.NWBFile) -> dict[str, pynwb.TimeSeries]:
    """Series with two or three columns, by name (with the container's if need be).

    Each SpatialSeries, then each other TimeSeries whose name ends in _vel; both in the order of
    their names, because pynwb lists them in no fixed order.
    """
    found: dict[str, pynwb.TimeSeries] = {}
    series = [item for item in file.objects.values() if isinstance(item, pynwb.TimeSeries)]
    for item in sorted(series, key=lambda item: (not _is_place(item), item.name, item.parent.name)):
        shape = np.shape(item.data)
        planar = len(shape) == 2 and shape[1] in (2, 3)
        if planar and (_is_place(item) or item.name.endswith("_vel")):
            found[f"{item.parent.name}/{item.name}" if item.name in found else item.name] = item
    return found


def _is_place(series: pynwb.TimeSeries) -> bool:
    return isinstance(series, SpatialSeries)


def _cursor(
    path: Path, series: Mapping[str, pynwb.TimeSeries], wanted: str | None
) -> SpatialSeries:
    """The SpatialSeries of that name; for None the one called cursor_pos, or the only one."""
    places = {name: item for name, item in series.items() if _is_place(item)}
    names = ", ".join(places) or "none"
    if wanted is not None and wanted not in places:
        raise OrlaError(f"there is no 2-D SpatialSeries {wanted}; there are: {names}")
    if wanted is not None or _CURSOR in places:
        return places[wanted or _CURSOR]
    if len(places) != 1:
        raise OrlaError(
            f"which 2-D SpatialSeries is the cursor's position? There are: {names}; "
            + ("name one of them as cursor" if places else "use a file that has one")
        )
    print(f"{path}: {names}, the only 2-D SpatialSeries, is taken as the cursor", file=sys.stderr)
    return places[names]


def _original_name(series: SpatialSeries) -> str:
    """The name of the cursor's series in the file that a converted file was made from."""
    _, found, name = (series.comments or "").partition(TAKEN_FROM)
    return name if found else series.name


def _timestamps(series: pynwb.TimeSeries) -> np.ndarray:
    name = f"{series.name}, timestamps"
    if series.timestamps is not None:
        time_s = numbers(name, series.timestamps)
    elif not 0 < (series.rate or 0) < np.inf:
        raise OrlaError(f"{series.name}: its rate is {series.rate}; give samples a second")
    else:
        time_s = (series.starting_time or 0.0) + np.arange(len(series.data)) / series.rate
    if not np.isfinite(time_s).all() or (np.diff(time_s) <= 0).any():
        raise OrlaError(f"{name}: not finite and ascending; restore the sample times")
    if len(time_s) != len(series.data) or len(time_s) < 2:
        raise OrlaError(
            f"{series.name} has {len(series.data)} samples and {len(time_s)} times; "
            "give each sample its time, and two samples or more"
        )
    return time_s


def _behavior(
    own: SpatialSeries,
    series: Mapping[str, pynwb.TimeSeries],
    time_s: np.ndarray,
    metres_per_unit: float | None,
) -> dict[str, np.ndarray]:
    """(k, 2) positions in metres, `own` as cursor_pos; and velocities in metres per second."""
    scale = _length(own) if metres_per_unit is None else metres_per_unit
    if scale is None:
        raise OrlaError(f"{own.name} is in '{own.unit}', which is no length; give metres_per_unit")
    behavior = {_CURSOR: _metric(own, scale)}
    for name, item in series.items():
        # metres_per_unit is the cursor's and does not apply to series in other units.
        length = scale if item.unit == own.unit else _length(item)
        if item is own or name == _CURSOR or length is None or len(item.data) != len(time_s):
            continue
        if np.allclose(_timestamps(item), time_s, rtol=0, atol=1e-9):
            behavior[name] = _metric(item, length)
    return behavior


def _length(series: pynwb.TimeSeries) -> float | None:
    """Metres (or metres per second) of a series' unit; None where it is no known length."""
    unit = (series.unit or "").strip().lower()
    return _METRES.get(
        unit.removesuffix("/s").removesuffix("/sec").removesuffix(" per second").strip()
    )


def _metric(series: pynwb.TimeSeries, scale: float) -> np.ndarray:
    """x and y of a series in metres (or metres per second)."""
    values = numbers(series.name, series.data)[:, :2]
    return scale * (values * series.conversion + (series.offset or 0.0))
