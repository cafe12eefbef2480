"""Sessions as NWB files: the form that everything downstream reads."""

from __future__ import annotations

from pathlib import Path

from orla.sessions.nwb_read import read_session
from orla.sessions.nwb_write import write_session

__all__ = ["convert", "read_session", "write_session"]


def convert(
    path: str | Path,
    nwb_path: str | Path,
    *,
    cursor: str | None = None,
    metres_per_unit: float | None = None,
) -> None:
    """Bring any NWB file with units and a 2-D SpatialSeries into the form that orla reads.

    Keeps the longest stretch in which spikes and position were both recorded. Arguments and
    errors as of read_session.
    """
    session = read_session(path, cursor=cursor, metres_per_unit=metres_per_unit, trim=True)
    write_session(session, nwb_path)
