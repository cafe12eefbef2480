"""Sessions as NWB files, the format from which streams are made."""

from orla.sessions.nwb_read import Source, facts, read_session
from orla.sessions.nwb_write import write_session

__all__ = ["Source", "facts", "read_session", "write_session"]
