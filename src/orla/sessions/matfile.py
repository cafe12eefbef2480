"""Sessions of O'Doherty et al. as MATLAB v7.3 files: written, read, and converted to NWB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from orla.sessions import nwb
from orla.sessions.mat_read import POSITIONS, read_session
from orla.sessions.mat_write import write_session

__all__ = ["POSITIONS", "convert", "read_session", "write_session"]


def convert(
    mat_path: str | Path,
    nwb_path: str | Path,
    *,
    source: str = "",
    positions: Sequence[str] = POSITIONS,
    spikes_outside: Literal["refuse", "drop"] = "refuse",
) -> None:
    """Convert a session of O'Doherty et al. (MATLAB v7.3) to NWB, in SI units.

    The waveforms, most of the file, are never read. Arguments and errors as of read_session.
    """
    session = read_session(
        mat_path, source=source, positions=positions, spikes_outside=spikes_outside
    )
    nwb.write_session(session, nwb_path)
