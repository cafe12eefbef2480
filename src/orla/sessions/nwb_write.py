"""Sessions written as NWB files: units, electrodes with names, and behavior in SI units."""

import hashlib
import json
import re
import uuid
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pynwb
from hdmf.backends.hdf5 import H5DataIO
from hdmf.build import Builder, GroupBuilder
from hdmf.common import DynamicTableRegion, VectorData, VectorIndex
from pynwb.behavior import SpatialSeries
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.files import atomic
from orla.sessions.session import Session

CURSORS = ("cursor_pos", "cursor_values")  # a position, or values that are decoded themselves
UNKNOWN = "unknown"
OURS = "Written by orla: "  # and what NWB has no place for, as JSON
_NAMESPACE = uuid.UUID("6f2b4f0e-3a5d-5c1b-9d0a-0c9f6e0b7a11")


def write_session(session: Session, path: str | Path) -> None:
    """Write a session to an NWB file: units, electrodes, and behavior in SI units.

    The same session gives the same bytes: identifiers come from the content, and the file's date
    is the recording's. It is filled in memory, because the HDF5 library crashes (segmentation
    fault) when the disk is full; writing the finished bytes raises an ordinary error.
    """
    if not session.unit_spikes or not session.behavior:
        raise OrlaError(f"{path}: the session {session.name} has no units or no behavior to write")
    start = _start_time(session.name)
    notes = {"cursor": session.cursor, "spikes_dropped": session.spikes_dropped}
    notes |= {"about_series": session.about_series} if session.about_series else {}
    file = pynwb.NWBFile(
        session_description=session.source or f"Recording {session.name}",
        notes=OURS + json.dumps(notes, sort_keys=True),
        # What is not known of the subject is said to be unknown, as validators ask.
        subject=pynwb.file.Subject(subject_id=session.subject or UNKNOWN, sex="U", age="P0D/"),
        identifier=_content_hash(session),
        session_start_time=start,
        file_create_date=start,
        session_id=session.name,
    )
    _add_electrodes(file, session)
    file.units = _units_table(file, session)
    _add_behavior(file, session)
    for reason, begin, end in session.left_out:
        file.add_invalid_time_interval(start_time=begin, stop_time=end, tags=[reason])
    buffer = BytesIO()
    with h5py.File(buffer, "w") as content, _ReproducibleIO(file=content, mode="w") as io:
        io.write(file)
    with atomic(path) as partial:
        partial.write_bytes(buffer.getbuffer())


def _content_hash(session: Session) -> str:
    """A hash of all that a session holds, as the file's identifier."""
    arrays = [session.unit_channel, session.unit_sorted, session.time_s, *session.unit_spikes]
    arrays += session.behavior.values()
    texts = [
        value
        for name, value in vars(session).items()
        if isinstance(value, (str, list, dict)) and name not in ("unit_spikes", "behavior")
        if value or name not in ("about_series", "places")
    ]
    shapes = [np.shape(array) for array in arrays]
    digest = hashlib.sha256(json.dumps([texts, list(session.behavior), shapes]).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()[:32]


def _start_time(name: str) -> datetime:
    """Midnight UTC of the date in a session's name; the epoch where there is none."""
    match = re.search(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)", name)
    try:
        return datetime(*(int(part) for part in match.groups()), tzinfo=UTC)
    except (AttributeError, ValueError):
        return datetime(1970, 1, 1, tzinfo=UTC)


def _add_electrodes(file: pynwb.NWBFile, session: Session) -> None:
    device = file.create_device(name="array", description="Electrode array")
    # Groups have numbers, because names in HDF5 hold neither "/" nor ":".
    groups = {
        area: file.create_electrode_group(f"array_{i}", f"Electrodes in {area}", area, device)
        for i, area in enumerate(dict.fromkeys(session.areas))
    }
    file.add_electrode_column(name="channel_name", description="Name of the channel")
    file.add_electrode_column(name="array", description="Its array; none for a unit")
    columns = {"channel_name": session.channels, "array": session.arrays}
    if session.places:
        file.add_electrode_column(name="place", description="Where it lies on its array")
        columns["place"] = session.places
    for area, *texts in zip(session.areas, *columns.values(), strict=True):
        row = dict(zip(columns, texts, strict=True))
        file.add_electrode(location=area, group=groups[area], **row)


def _units_table(file: pynwb.NWBFile, session: Session) -> Units:
    """The units as a table, in whole columns: add_unit converts every spike to a Python float."""
    count = len(session.unit_spikes)
    spikes = VectorData(
        name="spike_times",
        description="the spike times for each unit in seconds",
        data=_compress(np.concatenate(session.unit_spikes)),
    )
    electrodes = DynamicTableRegion(
        name="electrodes",
        description="the electrodes that each spike unit came from",
        table=file.electrodes,
        data=session.unit_channel,
    )
    is_sorted = VectorData(
        name="sorted",
        description="whether a sorter made the unit; False for unsorted threshold crossings",
        data=session.unit_sorted,
    )
    ends = np.cumsum([len(times) for times in session.unit_spikes])
    indices = [
        VectorIndex(name=f"{column.name}_index", target=column, data=index.astype(np.uint64))
        for column, index in ((spikes, ends), (electrodes, np.arange(1, count + 1)))
    ]
    intervals = np.concatenate([np.diff(times) for times in session.unit_spikes])
    return Units(
        name="units",
        resolution=float(intervals[intervals > 0].min()) if (intervals > 0).any() else None,
        description="Sorted units and unsorted threshold crossings",
        id=np.arange(count),
        columns=[spikes, indices[0], electrodes, indices[1], is_sorted],
        colnames=["spike_times", "electrodes", "sorted"],
        electrode_table=file.electrodes,
    )


def _add_behavior(file: pynwb.NWBFile, session: Session) -> None:
    about_all = "Positions on the recording's own time base"
    module = file.create_processing_module(name="behavior", description=about_all)
    times: Any = _compress(session.time_s)
    for name, values in session.behavior.items():
        about = {"name": name, "description": f"{name} of the recording"}
        about |= {"data": _compress(values), "timestamps": times}
        if name == CURSORS[1]:
            series = pynwb.TimeSeries(unit=session.unit or UNKNOWN, **about)
        else:
            series = SpatialSeries(unit="meters", reference_frame="the workspace's own", **about)
        times = series if isinstance(times, H5DataIO) else times  # the others link to the first's
        module.add(series)


def _compress(values: np.ndarray) -> H5DataIO:
    return H5DataIO(np.asarray(values), compression="gzip", compression_opts=4, shuffle=True)


class _ReproducibleIO(pynwb.NWBHDF5IO):
    """Writes ids derived from the file's identifier in place of the random ones of pynwb."""

    def write_builder(self, builder: GroupBuilder, **kwargs: Any) -> None:
        _derive_object_ids(builder, builder.datasets["identifier"].data)
        super().write_builder(builder, **kwargs)


def _derive_object_ids(builder: Builder, identifier: str) -> None:
    if "object_id" in builder.attributes:
        place = f"{identifier}:{builder.path}"
        builder.attributes["object_id"] = str(uuid.uuid5(_NAMESPACE, place))
    if isinstance(builder, GroupBuilder):
        for child in (*builder.groups.values(), *builder.datasets.values()):
            _derive_object_ids(child, identifier)
