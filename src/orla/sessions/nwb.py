"""Sessions as NWB files, ours or others such as DANDI 000129; in HDF5 or Zarr."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pynwb

from orla.errors import OrlaError
from orla.sessions import checks, hdf5
from orla.sessions.nwb_series import Source, read_series
from orla.sessions.nwb_tables import channels_of, excluded_intervals, spike_times, units_of
from orla.sessions.nwb_write import CURSORS, OURS, UNKNOWN, write_session
from orla.sessions.session import Session

__all__ = ["Source", "facts", "read_session", "write_session"]

_FINGER = "finger_pos"


def read_session(path: str | Path, source: Source = Source()) -> Session:
    """Read units and positions of any NWB file, such as those of DANDI 000129 (MC_RTT).

    A folder of NWB in Zarr takes the extra ``zarr``. The session has `finger_pos` too where that
    has the cursor's times. Time that the file excludes (invalid_times, obs_intervals, trials)
    stands in `left_out`, lost samples are NaN. Without a column ``sorted`` all units count as
    sorted, those of quality "mua" aside, and those of quality "noise" are left out; units without
    electrodes get a channel each. OrlaError: not an NWB file or a damaged one, no units, no such
    series, a series that is not what it is taken for, two channels of one name, spikes not in order
    or on another clock.
    """
    path = Path(path)
    with hdf5.open_checked(path, "NWB", _open, zarr=True) as file:
        units = units_of(file, source.units)
        series = read_series(file, source)
        by_orla = (file.notes or "").startswith(OURS)
        notes = json.loads(file.notes[len(OURS) :]) if by_orla else {}
        channels, unit_channel = channels_of(file, units)
        trains = spike_times(units, unit_channel)
        with suppress(OrlaError):  # x and y of the fingertip, where they have the cursor's times
            finger = read_series(file, Source(cursor=_FINGER))
            if np.array_equal(finger["time_s"], series["time_s"]):
                series["behavior"][_FINGER] = finger["behavior"][CURSORS[0]]
        trains["spikes_dropped"] = notes.get("spikes_dropped", {}) | trains["spikes_dropped"]
        excluded = excluded_intervals(file, units, series["time_s"], source.trials, by_orla)
        session = Session(
            name=file.session_id or path.stem,
            source=file.session_description or "",
            subject=_subject(file),
            left_out=excluded,
            **channels,
            **trains,
            **series | {"cursor": notes.get("cursor", series["cursor"])},
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
