"""The lines of LOCK, each of which holds the hash of all before it.

A line is ``SHA-256  date  file  chain=HASH``, where HASH is the SHA-256 of the whole text before
the line followed by the line's first three fields. So a line that was changed, removed or put in
between is noticed at the next one. Lines that are older than the chain have three fields, and stand
first.
"""

import datetime
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from orla.errors import OrlaError
from orla.prereg.documents import day

BEGUN = datetime.date(2026, 11, 22)
"""The day on which the chain began; a line without a chain is not dated later."""

_LINE = re.compile(
    r"(?P<sha256>[0-9a-f]{64}) +(?P<date>\d{4}-\d{2}-\d{2}) +(?P<file>\S+\.yaml)"
    r"(?: +chain=(?P<chain>[0-9a-f]{64}))?"
)


@dataclass(frozen=True)
class Line:
    """One line of LOCK: a file (relative to LOCK's folder), its SHA-256, and when it was locked."""

    file: str
    sha256: str
    date: datetime.date


def parse(text: str, path: Path) -> list[Line]:
    """Read the text of LOCK and check its chain; `path` names it in an error.

    Raises:
        OrlaError: A line that is not one, a file that is locked twice, a date before that of the
            line before, a chain that does not fit, or a line without one after the chain began.
    """
    found: dict[str, Line] = {}
    before, chained, last = "", False, datetime.date.min
    for number, raw in enumerate(text.splitlines(keepends=True), start=1):
        place, match = f"{path}: line {number}", _LINE.fullmatch(raw.rstrip())
        if match is None:
            raise OrlaError(
                f'{place} is not "SHA-256 date file chain=SHA-256"; restore it from git'
            )
        line = Line(match["file"], match["sha256"], day(match["date"], f"{place}, date"))
        if line.file in found:
            raise OrlaError(f"{place} locks {line.file} again; keep the first line")
        if line.date < last:
            raise OrlaError(
                f"{place} is dated {line.date}, before the line above it ({last}); restore LOCK "
                "from git"
            )
        if match["chain"] is None and (chained or line.date > BEGUN):
            raise OrlaError(
                f"{place} has no chain; lock {line.file} with: python -m orla prereg lock"
            )
        if match["chain"] not in (None, _hash(before, line)):
            raise OrlaError(
                f"{path}: the chain is broken at line {number} ({line.file}): this line or one "
                "above it was changed, added or removed after it was locked; restore LOCK from git"
            )
        found[line.file] = line
        before, chained, last = before + raw, match["chain"] is not None, line.date
    return list(found.values())


def extended(text: str, line: Line) -> str:
    """The text of LOCK with one more line."""
    before = text if not text or text.endswith("\n") else text + "\n"
    return f"{before}{_fields(line)}  chain={_hash(before, line)}\n"


def _fields(line: Line) -> str:
    return f"{line.sha256}  {line.date}  {line.file}"


def _hash(before: str, line: Line) -> str:
    return hashlib.sha256((before + _fields(line)).encode()).hexdigest()
