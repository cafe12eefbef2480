"""Sessions as NWB files, the format from which streams are made."""

from __future__ import annotations

from dataclasses import dataclass

from orla.catalogue import option
from orla.sessions.nwb_read import read_session
from orla.sessions.nwb_write import write_session

__all__ = ["Source", "read_session", "write_session"]


@dataclass(frozen=True)
class Source:
    """NWB files with units and a two-dimensional SpatialSeries."""

    files: dict[str, str] = option({}, "File of each session, by the session's name.")
    cursor: str | None = option(
        None, "Name of the SpatialSeries to decode; null: cursor_pos, else the only one there is."
    )
    metres_per_unit: float | None = option(
        None, "Length of the series' unit in metres; null where the file names one.", above=0
    )
