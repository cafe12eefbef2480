"""Sessions as NWB files, ours or others such as DANDI 000129; in HDF5 or Zarr."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pynwb
from hdmf.common import EnumData, VectorIndex
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks, clocks, hdf5
from orla.sessions.nwb_excluded import excluded_intervals, observed_briefly, observed_intervals
from orla.sessions.nwb_series import find_objects, find_path, read_series
from orla.sessions.nwb_source import Source
from orla.sessions.nwb_write import OURS, UNKNOWN, write_session
from orla.sessions.session import Session

__all__ = ["Source", "read_session", "recording_facts", "write_session"]

_FINGER = "finger_pos"
_JUDGES = re.compile(r"good|accept|valid|keep|qc|includ|pass", re.IGNORECASE)
_MOST_TWICE = 0.01
_MOST_WORDS = 10  # of a column that judges units
_CHANNEL_COLUMNS = ("channel_name", "electrode_name", "label", "channel")
# By a person first, then by a sorter.
_QUALITY_COLUMNS = ("quality", "unit_quality", "group", "cluster_group", "KSLabel")
_NOISE = ("noise", "bad", "artifact", "artefact", "reject", "rejected")
_UNSORTED = ("mua", "multi", "multiunit", "unsorted")
_SORTED = ("good", "single", "su", "sua")


def read_session(path: str | Path, source: Source = Source()) -> Session:
    """Units and positions of any NWB file, such as those of DANDI 000129 (MC_RTT).

    A folder of NWB in Zarr takes the extra ``zarr``. The session has `finger_pos` too where that
    has the cursor's times. Time that the file excludes (invalid_times, obs_intervals, trials), or
    in which all units are silent, stands in `left_out`; lost samples are NaN. Units count as
    sorted without a column ``sorted``, those of quality "mua" aside; those of quality "noise" are
    left out. OrlaError: no NWB file or a damaged one, no units, no such series or another than it
    is taken for, two channels of one name, spikes or intervals out of order or on another clock.
    """
    path = Path(path)
    with hdf5.open_checked(path, "NWB", _open_nwb, zarr=True) as file:
        units = _find_units(file, source.units)
        by_orla = (file.notes or "").startswith(OURS)
        series = read_series(file, source, by_orla)
        notes = json.loads(file.notes[len(OURS) :]) if by_orla else {}
        channels, unit_channel = _read_channels(file, units)
        observed_by_unit = observed_intervals(units)
        trains, unit_rows = _read_usable_units(units, unit_channel, observed_by_unit)
        with suppress(OrlaError):  # x and y of the fingertip, where they have the cursor's times
            finger = read_series(file, Source(cursor=_FINGER), by_orla)
            if np.array_equal(finger["time_s"], series["time_s"]):
                [series["behavior"][_FINGER]] = finger["behavior"].values()
        trains["spikes_dropped"] = notes.get("spikes_dropped", {}) | trains["spikes_dropped"]
        intervals = excluded_intervals(
            *(file, [observed_by_unit[i] for i in unit_rows], series["time_s"]),
            *(trains["unit_spikes"], source.trials, by_orla),
        )
        session = Session(
            name=file.session_id or path.stem,
            source=file.session_description or "",
            subject=_subject_name(file),
            left_out=intervals,
            **channels,
            **trains,
            **series | {name: notes[name] for name in ("cursor", "about_series") if name in notes},
        )
        most = 1.0 if by_orla else source.most_outside
        clocks.require_one_clock(session, most, "raise nwb.most_outside")
        if not by_orla:  # ours has them among its own
            session.left_out += clocks.silent_stretches(session)
    return session


@contextmanager
def _open_nwb(path: Path) -> Iterator[pynwb.NWBFile]:
    """An NWB file in HDF5 or Zarr, open in the block."""
    if path.is_dir():
        from hdmf_zarr.nwb import NWBZarrIO as Reader
    else:
        from pynwb import NWBHDF5IO as Reader

        with suppress(ImportError):
            import hdf5plugin  # noqa: F401  registers the filters that it brings
    with Reader(str(path), mode="r", load_namespaces=True) as io:
        yield io.read()


def recording_facts(path: str | Path) -> dict[str, str]:
    """Subject, species, date, laboratory and area of a recording, as far as its file names them.

    OrlaError: not an NWB file or a damaged one.
    """
    with hdf5.open_checked(Path(path), "NWB", _open_nwb, zarr=True) as file:
        areas = [] if file.electrodes is None else _read_texts(file.electrodes, "location")
        entries = {
            "subject": _subject_name(file),
            "species": file.subject.species if file.subject else None,
            "date": file.session_start_time.date().isoformat(),
            "laboratory": file.lab,
            "area": " and ".join(sorted({*areas})),
        }
    return {name: value for name, value in entries.items() if value}


def _subject_name(file: pynwb.NWBFile) -> str:
    """Whose recording it is; "" where the file does not say."""
    name = (file.subject.subject_id or "") if file.subject else ""
    return "" if name.lower() == UNKNOWN else name


def _find_units(file: pynwb.NWBFile, name_or_path: str | None) -> Units:
    """The table of units: the file's own, else the only one in a processing module."""
    tables = {} if file.units is None else {"units": file.units}
    for name, module in sorted(file.processing.items()):
        tables.update(find_objects(f"processing/{name}", module, Units))
    tables = {p: t for p, t in tables.items() if len(t) and "spike_times" in t.colnames}
    if name_or_path is not None:
        return tables[find_path("units", name_or_path, tables, list(tables))]
    if not tables:
        raise OrlaError("units: no unit with spike_times; use a file with sorted spikes")
    path = "units" if "units" in tables else next(iter(tables))
    if path != "units":
        if len(tables) > 1:
            raise OrlaError(f"units: which of {', '.join(tables)}? Name one as nwb.units")
        print(f"units are those of {path}", file=sys.stderr)
    return tables[path]


def _read_channels(file: pynwb.NWBFile, units: Units) -> tuple[dict[str, list[str]], np.ndarray]:
    """Channels, arrays and areas of a Session, and each unit's channel (its first electrode).

    Units get a channel each, of no array, without electrodes, and where they list several that are
    no electrodes of one site such as a tetrode: then the first one says nothing.
    """
    ids = units.id[:]
    if "electrodes" not in units.colnames or file.electrodes is None:
        return _units_as_channels(ids, ["unknown"] * len(ids))
    table = file.electrodes
    column = next((name for name in _CHANNEL_COLUMNS if name in table.colnames), None)
    names = _read_texts(table, column) if column else [f"electrode {i}" for i in table.id[:]]
    where = next((name for name in ("array", "group_name") if name in table.colnames), None)
    arrays = _read_texts(table, where) if where else ["array"] * len(names)
    checks.require_distinct(f"electrodes, {column or 'id'}", list(zip(arrays, names, strict=True)))
    areas = _read_texts(table, "location") if "location" in table.colnames else []
    fields = {"channels": names, "arrays": arrays, "areas": areas, "places": _read_places(table)}
    electrodes, where = units["electrodes"], "units, electrodes"
    if not isinstance(electrodes, VectorIndex):
        return fields, checks.read_indices(where, electrodes.data, len(names) - 1)
    channels = checks.read_indices(where, electrodes.target.data, len(names) - 1)
    ends = checks.read_indices(f"{where}_index", electrodes.data, len(channels))
    starts = np.concatenate([[0], ends[:-1]])
    if len(ends) != len(ids) or (ends <= starts).any():
        raise OrlaError(
            f"{where}_index: a unit has no electrode; give each unit one, or none to all"
        )
    sites_of_units = [tuple(sorted({*site})) for site in np.split(channels, ends[:-1])]
    sites = {*sites_of_units}
    several = len({*channels})
    if sum(map(len, sites)) > several or (len(sites) == 1 and several > 1):
        print("units list overlapping electrodes; each is a channel of its own", file=sys.stderr)
        return _units_as_channels(ids, [areas[i] for i in channels[starts]] if areas else [])
    # Of a tetrode the least: the first one listed may be the one with the largest spikes.
    return fields, np.array([site[0] for site in sites_of_units])


def _read_places(table: pynwb.core.DynamicTable) -> list[str]:
    """Where each electrode lies on its array, to a micrometre; [] where the file does not say."""
    if "place" in table.colnames:  # ours
        return _read_texts(table, "place")
    if not {"rel_x", "rel_y"} <= {*table.colnames}:
        return []
    axes = (checks.read_numbers(name, table[name].data) for name in ("rel_x", "rel_y"))
    places = np.round(np.column_stack([*axes]))
    return [f"({x:g}, {y:g})" for x, y in places] if np.isfinite(places).all() else []


def _units_as_channels(ids: Sequence[Any], areas: list[str]) -> tuple[dict[str, Any], np.ndarray]:
    """Fields of a Session whose units are channels, and each unit's channel."""
    fields = {"channels": [f"unit {i}" for i in ids], "arrays": [""] * len(ids), "areas": areas}
    checks.require_distinct("units, id", fields["channels"])
    return fields, np.arange(len(ids))


def _print_doubts(units: Units, spikes: Sequence[np.ndarray]) -> None:
    """Say which units look as if they were counted twice, or are judged by a column not used."""
    twice = sum(np.count_nonzero(np.diff(times) == 0) for times in spikes)
    if twice > _MOST_TWICE * sum(map(len, spikes)):
        print(f"{twice} spikes have the time of the one before: counted twice?", file=sys.stderr)
    trains = Counter(hash(times.tobytes()) for times in spikes if times.size)
    if n_equal := sum(n - 1 for n in trains.values()):
        print(f"{n_equal} units have the spikes of another one: counted twice?", file=sys.stderr)
    for column in filter(_JUDGES.search, units.colnames):
        values = np.asarray(_column_data(units, column)[:])
        if values.dtype.kind == "b" and not values.all():
            n = np.count_nonzero(~values)
            print(f"units, {column}: false of {n} units, and not used", file=sys.stderr)


def _quality_words(units: Units) -> Iterator[tuple[str, np.ndarray]]:
    """Columns that say of each unit what it is, by a person first, and others that name noise."""
    others = (name for name in units.colnames if name not in _QUALITY_COLUMNS)
    for column in (*(name for name in _QUALITY_COLUMNS if name in units.colnames), *others):
        is_text = getattr(_column_data(units, column)[:1], "dtype", np.dtype(object)).kind in "OSU"
        if isinstance(units[column], VectorIndex) or not is_text:
            continue
        words = np.array([word.strip().lower() for word in _read_texts(units, column)])
        if column in _QUALITY_COLUMNS or (
            len({*words}) <= _MOST_WORDS and np.isin(words, _NOISE).any()
        ):
            yield column, words


def _read_texts(table: pynwb.core.DynamicTable, column: str) -> list[str]:
    """A column of a table as texts."""
    values = checks.read_values(column, _column_data(table, column), "OSUfiub", "words")
    return [x.decode() if isinstance(x, bytes) else str(x) for x in values.ravel()]


def _column_data(table: pynwb.core.DynamicTable, column: str) -> Any:
    """What a column holds; of an enumeration, whose data are codes, the words."""
    values = table[column]
    if not isinstance(values, EnumData):
        return values.data
    words = np.asarray(values.elements.data[:])
    return words[checks.read_indices(column, values.data, len(words) - 1)]


def _read_usable_units(
    units: Units, unit_channel: np.ndarray, observed_by_unit: Sequence[np.ndarray]
) -> tuple[dict[str, Any], np.ndarray]:
    """Fields of a Session about units that are no noise and were observed throughout; their rows.

    Of each unit they are the ascending spike times (s), whether it is sorted, and its channel; and
    spikes left out by reason.
    """
    ids = units.id[:]
    kind = partial(clocks.convert_stored_times, name := "units, spike_times")
    spikes = checks.read_ragged_rows(name, units["spike_times"], len(ids), kind)
    clocks.require_ascending([f"units, unit {unit}, spike_times" for unit in ids], spikes)
    _print_doubts(units, spikes)
    n_spikes = np.array([*map(len, spikes)])
    is_sorted, good = np.ones(len(ids), dtype=bool), np.ones(len(ids), dtype=bool)
    if "sorted" in units.colnames:
        data = _column_data(units, "sorted")
        values = checks.read_values("units, sorted", data, "biu", "true or false")
        if not np.isin(values, (0, 1)).all():
            raise OrlaError("units, sorted: holds numbers but 0 and 1; give true or false")
        is_sorted = values.astype(bool)
    spikes_dropped, is_judged = {}, False
    for column, words in _quality_words(units):
        noise = good & np.isin(words, _NOISE)
        if n_noise := int(n_spikes[noise].sum()):
            reason = f"units of {column} {' or '.join(sorted({*words[noise]}))}"
            spikes_dropped[reason] = n_noise
        good &= ~noise
        if not is_judged and np.isin(words, [*_UNSORTED, *_SORTED]).any():
            is_sorted, is_judged = is_sorted & ~np.isin(words, _UNSORTED), True
    if (brief := good & observed_briefly(observed_by_unit)).any():
        reason = "units observed for less than half of the usual time"
        spikes_dropped[reason] = int(n_spikes[brief].sum())
        good &= ~brief
    fields = {
        "unit_spikes": [spikes[i] for i in np.flatnonzero(good)],
        "unit_sorted": is_sorted[good],
        "unit_channel": unit_channel[good],
        "spikes_dropped": spikes_dropped,
    }
    return fields, np.flatnonzero(good)
