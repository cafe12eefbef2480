"""Sessions as NWB files, ours or others such as DANDI 000129; in HDF5 or Zarr."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pynwb

from orla.catalogue import option
from orla.errors import OrlaError
from orla.sessions import checks, hdf5
from orla.sessions.nwb_series import read_series
from orla.sessions.nwb_tables import channels_of, excluded_intervals, spike_times, units_of
from orla.sessions.nwb_write import CURSORS, OURS, UNKNOWN, write_session
from orla.sessions.session import Session

__all__ = ["Source", "facts", "read_session", "write_session"]

_FINGER = "finger_pos"


@dataclass(frozen=True)
class Source:
    """NWB files with units and a series to decode."""

    files: dict[str, str] = option({}, "File of each session, by the session's name.")
    cursor: str | list[str] | None = option(
        None,
        "The series to decode, by its name or the end of its path, such as Position/hand; or a "
        "list of series, put side by side; null: cursor_pos, else the only SpatialSeries.",
    )
    series: str = option(
        "position",
        "What the series is: a position, whose velocity is decoded, or values, such as a velocity, "
        "a force or EMG, which are decoded themselves.",
        choices=("position", "values"),
    )
    columns: list[int] | None = option(
        None, "Columns of the series, from 0; null: x and y of a position, all of values."
    )
    metres_per_unit: float | None = option(
        None, "Length of the series' unit in metres; null where the file names one.", above=0
    )
    units: str | None = option(
        None, "Path or name of the table of units; null: units, else the only one there is."
    )
    trials: bool = option(False, "Only what lies inside the trials of the file's table.")
    channels: str | None = option(
        None,
        "Whether a channel of session A is the one of that name in session B; null: the same where "
        "arrays, electrodes and subject prove it, else different.",
        choices=(None, "same", "different"),
    )
    most_outside: float = option(
        0.05,
        "Largest share of spikes that may lie outside the times of the series; with more the "
        "clocks differ.",
        least=0,
        most=1,
    )


def read_session(path: str | Path, source: Source = Source()) -> Session:
    """Read units and positions of any NWB file, such as those of DANDI 000129 (MC_RTT).

    A folder of NWB in Zarr takes the extra ``zarr``. The session has `finger_pos` too where that
    has the cursor's times. Time that the file excludes (invalid_times, obs_intervals, trials)
    stands in `left_out`, lost samples are NaN. Without a column ``sorted`` all units count as
    sorted, those of quality "mua" aside, and those of quality "noise" are left out; units without
    electrodes get a channel each.

    Raises:
        OrlaError: not an NWB file or a damaged one, no units, no such series, a series that is not
            what it is taken for, two channels of one name, spikes not in order or on another
            clock.
    """
    path = Path(path)
    with hdf5.open_checked(path, "NWB", _open, zarr=True) as file:
        units = units_of(file, source.units)
        cursor = read_series(
            file,
            source.cursor,
            is_position=source.series == "position",
            columns=source.columns,
            metres_per_unit=source.metres_per_unit,
        )
        by_orla = (file.notes or "").startswith(OURS)
        notes = json.loads(file.notes[len(OURS) :]) if by_orla else {}
        channels, arrays, areas, unit_channel = channels_of(file, units)
        spikes, is_sorted, unit_channel, spikes_dropped = spike_times(units, unit_channel)
        session = Session(
            name=file.session_id or path.stem,
            channels=channels,
            unit_spikes=spikes,
            unit_channel=unit_channel,
            unit_sorted=is_sorted,
            time_s=cursor.time_s,
            behavior={CURSORS[not cursor.is_position]: cursor.values}
            | _finger(file, cursor.time_s),
            areas=areas,
            source=file.session_description or "",
            cursor=notes.get("cursor", cursor.name),
            arrays=arrays,
            subject=_subject(file),
            unit=cursor.unit,
            left_out=excluded_intervals(
                file, units, cursor.time_s, trials=source.trials, by_orla=by_orla
            ),
            spikes_dropped=notes.get("spikes_dropped", {}) | spikes_dropped,
        )
        most = 1.0 if by_orla else source.most_outside
        checks.require_one_clock(session, most, "raise nwb.most_outside")
    return session


@contextmanager
def _open(path: Path) -> Iterator[pynwb.NWBFile]:
    if path.is_dir():
        from hdmf_zarr.nwb import NWBZarrIO as Reader
    else:
        from pynwb import NWBHDF5IO as Reader

        with suppress(ImportError):
            import hdf5plugin  # noqa: F401  registers the filters that it brings
    with Reader(str(path), mode="r", load_namespaces=True) as io:
        yield io.read()


def facts(path: str | Path) -> dict[str, str]:
    """Subject, species, date, laboratory and area of a recording, as far as its file names them.

    Raises:
        OrlaError: not an NWB file or a damaged one.
    """
    with hdf5.open_checked(Path(path), "NWB", _open, zarr=True) as file:
        electrodes = file.electrodes
        areas = () if electrodes is None else electrodes["location"].data[:]
        entries = {
            "subject": _subject(file),
            "species": file.subject.species if file.subject else None,
            "date": file.session_start_time.date().isoformat(),
            "laboratory": file.lab,
            "area": " and ".join(sorted({*areas})),
        }
    return {name: value for name, value in entries.items() if value}


def _subject(file: pynwb.NWBFile) -> str:
    name = (file.subject.subject_id or "") if file.subject else ""
    return "" if name.lower() == UNKNOWN else name


def _finger(file: pynwb.NWBFile, time_s: np.ndarray) -> dict[str, np.ndarray]:
    """x and y of the fingertip in metres, where the file has them at the cursor's times."""
    try:
        finger = read_series(file, _FINGER)
    except OrlaError:
        return {}
    return {_FINGER: finger.values} if np.array_equal(finger.time_s, time_s) else {}
