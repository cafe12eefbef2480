"""Units of NWB files: their channels, spike times, and whether they are sorted."""

from __future__ import annotations

import sys

import numpy as np
import pynwb
from hdmf.common import VectorIndex
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks, clocks
from orla.sessions.nwb_series import below, find

_CHANNEL_COLUMNS = ("channel_name", "electrode_name", "label", "channel")
_QUALITY_COLUMNS = ("quality", "unit_quality", "KSLabel", "group")
_NOISE = ("noise", "bad", "artifact", "artefact", "reject", "rejected")
_UNSORTED = ("mua", "multi", "multiunit", "unsorted")


def units_of(file: pynwb.NWBFile, name_or_path: str | None) -> Units:
    """The table of units: the file's own, else the only one in a processing module.

    Raises:
        OrlaError: there is none with spike times, or there are several.
    """
    tables = {} if file.units is None else {"units": file.units}
    for name, module in sorted(file.processing.items()):
        tables.update(below(f"processing/{name}", module, Units))
    tables = {p: t for p, t in tables.items() if len(t) and "spike_times" in t.colnames}
    if name_or_path is not None:
        return find("units", name_or_path, tables, list(tables))[1]
    if not tables:
        raise OrlaError("units: no unit with spike_times; use a file with sorted spikes")
    if "units" not in tables:
        if len(tables) > 1:
            raise OrlaError(f"units: which of {', '.join(tables)}? Name one as nwb.units")
        print(f"units are those of {next(iter(tables))}", file=sys.stderr)
    return tables.get("units") or next(iter(tables.values()))


def channels_of(
    file: pynwb.NWBFile, units: Units
) -> tuple[list[str], list[str], list[str], np.ndarray]:
    """Names, arrays and areas of the channels, and each unit's channel (its first electrode).

    Units without electrodes get a channel each, of no array.
    """
    ids = units.id[:]
    if "electrodes" not in units.colnames or file.electrodes is None:
        none = [""] * len(ids)
        return [f"unit {i}" for i in ids], none, ["unknown"] * len(ids), np.arange(len(ids))
    table = file.electrodes
    column = next((name for name in _CHANNEL_COLUMNS if name in table.colnames), None)
    names = _texts(table, column) if column else [f"electrode {i}" for i in table.id[:]]
    where = next((name for name in ("array", "group_name") if name in table.colnames), None)
    arrays = _texts(table, where) if where else ["array"] * len(names)
    keys = list(zip(arrays, names, strict=True))
    checks.require_distinct(f"electrodes, {column}", keys)
    areas = _texts(table, "location") if "location" in table.colnames else []
    electrodes, where = units["electrodes"], "units, electrodes"
    if not isinstance(electrodes, VectorIndex):
        return names, arrays, areas, checks.indices(where, electrodes.data, len(names) - 1)
    channels = checks.indices(where, electrodes.target.data, len(names) - 1)
    ends = checks.indices(f"{where}_index", electrodes.data, len(channels))
    starts = np.concatenate([[0], ends[:-1]])
    if len(ends) != len(ids) or (ends <= starts).any():
        raise OrlaError(
            f"{where}_index: a unit has no electrode; give each unit one, or none to all"
        )
    return names, arrays, areas, channels[starts]


def _texts(table: pynwb.core.DynamicTable, column: str) -> list[str]:
    values = checks.values_of(column, table[column].data, "OSUfiub", "words")
    return [x.decode() if isinstance(x, bytes) else str(x) for x in values.ravel()]


def spike_times(
    units: Units, unit_channel: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, dict[str, int]]:
    """Ascending spike times (s), whether sorted, and channel of each unit that is no noise.

    Returns:
        Those three, and how many spikes were left out, by reason.
    """
    ids = units.id[:]
    spikes = checks.ragged("units, spike_times", units["spike_times"], len(ids), checks.seconds)
    clocks.require_ascending([f"units, unit {unit}, spike_times" for unit in ids], spikes)
    is_sorted, good = np.ones(len(ids), dtype=bool), np.ones(len(ids), dtype=bool)
    if "sorted" in units.colnames:
        values = checks.values_of("units, sorted", units["sorted"].data, "biu", "true or false")
        if not np.isin(values, (0, 1)).all():
            raise OrlaError("units, sorted: holds numbers but 0 and 1; give true or false")
        is_sorted = values.astype(bool)
    column = next((name for name in _QUALITY_COLUMNS if name in units.colnames), None)
    if column is not None:
        words = np.array([word.strip().lower() for word in _texts(units, column)])
        good, is_sorted = ~np.isin(words, _NOISE), is_sorted & ~np.isin(words, _UNSORTED)
    n_noise = sum(len(x) for x, g in zip(spikes, good, strict=True) if not g)
    spikes_dropped = (
        {f"units of {column} {' or '.join(sorted({*words[~good]}))}": n_noise} if n_noise else {}
    )
    trains = [x for x, g in zip(spikes, good, strict=True) if g]
    return trains, is_sorted[good], unit_channel[good], spikes_dropped
