"""Units of NWB files: their channels, spike times, and whether they are sorted."""

from __future__ import annotations

import numpy as np
import pynwb
from hdmf.common import VectorIndex
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks
from orla.sessions.nwb_fields import indices, ragged, values_of

_CHANNEL_COLUMNS = ("channel_name", "electrode_name", "label", "channel")


def channels_of(file: pynwb.NWBFile, units: Units) -> tuple[list[str], list[str], np.ndarray]:
    """Names and areas of the channels, and each unit's (its first electrode).

    Labels that occur on several probes are prefixed with the name of their electrode group.
    """
    ids = units.id[:]
    if "electrodes" not in units.colnames or file.electrodes is None:
        return [f"unit {i}" for i in ids], ["unknown"] * len(ids), np.arange(len(ids))
    table = file.electrodes
    column = next((name for name in _CHANNEL_COLUMNS if name in table.colnames), None)
    names = table[column].data[:] if column else [f"electrode {i}" for i in table.id[:]]
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    if len(set(names)) < len(names) and "group_name" in table.colnames:
        groups = [str(group) for group in table["group_name"].data[:]]
        names = [f"{group} {name}" for group, name in zip(groups, names, strict=True)]
    checks.require_distinct(f"electrodes, {column}", names)
    areas = [str(area) for area in table["location"].data[:]] if "location" in table else []
    electrodes, where = units["electrodes"], "units, electrodes"
    if not isinstance(electrodes, VectorIndex):
        return names, areas, indices(where, electrodes.data, len(names) - 1)
    held = indices(where, electrodes.target.data, len(names) - 1)
    ends = indices(f"{where}_index", electrodes.data, len(held))
    starts = np.concatenate([[0], ends[:-1]])
    if len(ends) != len(ids) or (ends <= starts).any():
        raise OrlaError(
            f"{where}_index: a unit has no electrode; give each unit one, or none to all"
        )
    return names, areas, held[starts]


def spike_times(units: Units) -> list[np.ndarray]:
    """Ascending spike times (s) of each unit."""
    ids = units.id[:]
    spikes = ragged("units, spike_times", units["spike_times"], len(ids))
    for unit, train in zip(ids, spikes, strict=True):
        checks.require_ascending(f"units, unit {unit}, spike_times", train)
    return spikes


def sorted_units(units: Units) -> np.ndarray:
    """(units,) bool, False for unsorted threshold crossings."""
    if "sorted" not in units.colnames:
        return np.ones(len(units), dtype=bool)
    values = values_of("units, sorted", units["sorted"].data, "biu", "true or false")
    if not np.isin(values, (0, 1)).all():
        raise OrlaError("units, sorted: holds numbers but 0 and 1; give true or false")
    return values.astype(bool)
