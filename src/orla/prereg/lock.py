"""The lock: digest and date of each registration and of each amendment, in one chain.

A line is ``SHA-256  date  file  chain=HASH``, where HASH is the SHA-256 of the whole text before
the line followed by the line's first three fields. So a line that was changed, removed or put in
between is noticed at the next one. Lines that are older than the chain have three fields, and stand
first. A registration that differs from its line is refused unless an amendment, itself locked,
names it and the SHA-256 that it now has; once amended it stays so, even where it is changed back.
"""

import datetime
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orla.errors import OrlaError
from orla.files import MOST_TEXT, as_one_line, atomic, content, sha256
from orla.prereg import amendments, history
from orla.prereg.amendments import AMENDMENTS, Amendment
from orla.prereg.documents import day
from orla.prereg.history import Line

LOCK = "LOCK"
BEGUN = datetime.date(2026, 11, 22)
"""The day on which the chain began; a line without a chain is not dated later."""

_LINE = re.compile(
    r"(?P<sha256>[0-9a-f]{64}) +(?P<date>\d{4}-\d{2}-\d{2}) +(?P<file>\S+\.yaml)"
    r"(?: +chain=(?P<chain>[0-9a-f]{64}))?"
)


@dataclass(frozen=True)
class Locked:
    """A registration that was verified.

    `sha256` and `date` are those of its line in LOCK, `judged` is the SHA-256 of the file as it
    stands, `history` one of "git", "not committed" and "not checked".
    """

    file: str
    sha256: str
    date: datetime.date
    judged: str = ""
    amendments: tuple[Amendment, ...] = ()
    history: str = history.UNCHECKED

    @property
    def amended(self) -> bool:
        """Whether it was ever amended."""
        return bool(self.amendments)


def parse(text: str, path: Path) -> list[Line]:
    """Read the text of LOCK and check its chain; `path` names it in an error.

    Raises:
        OrlaError: A line that is not one, a file that is locked twice, a date before that of the
            line before, a chain that does not fit, or a line without one after the chain began.
    """
    found: dict[str, Line] = {}
    before, chained, last = "", False, datetime.date.min
    for number, raw in enumerate(text.splitlines(keepends=True), start=1):
        place, wanted = f"{path}: line {number}", '"SHA-256 date file chain=SHA-256"'
        if (match := _LINE.fullmatch(raw.rstrip())) is None:
            raise OrlaError(f"{place} is not {wanted}; restore it from git")
        line = Line(match["file"], match["sha256"], day(match["date"], f"{place}, date"))
        if line.file in found:
            raise OrlaError(f"{place} locks {line.file} again; keep the first line")
        if line.date < last:
            above = f"before the line above it ({last})"
            raise OrlaError(f"{place} is dated {line.date}, {above}; restore LOCK from git")
        if match["chain"] is None and (chained or line.date > BEGUN):
            raise OrlaError(f"{place} has no chain; lock {line.file} with: orla prereg lock")
        if match["chain"] not in (None, _hash(before, line)):
            broken = f"the chain is broken at line {number} ({line.file}): this line or one above"
            raise OrlaError(f"{path}: {broken} was changed, added or removed; restore it from git")
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


def read(folder: str | Path) -> dict[str, Line]:
    """File, relative to a folder of registrations -> its line in LOCK; nothing without a LOCK."""
    path = Path(folder) / LOCK
    return {line.file: line for line in parse(_text(path), path)}


def write(
    folder: str | Path, files: Iterable[str | Path], date: datetime.date | None = None
) -> list[Line]:
    """Add registrations of a folder, or amendments in its ``amendments``, to LOCK, dated today.

    One that is locked already with the same content is skipped. The new lines are returned.

    Raises:
        OrlaError: A file is missing, lies elsewhere, was locked with other content, or LOCK holds a
            later date. Then nothing is added.
    """
    folder = Path(folder)
    path, entries, date = folder / LOCK, read(folder), date or datetime.date.today()
    text, added = _text(path), []
    last = max((line.date for line in entries.values()), default=date)
    for file in map(Path, files):
        line = Line(_name(folder, file), sha256(file), date)
        known = entries.setdefault(line.file, line)
        if known.sha256 != line.sha256:
            raise OrlaError(
                f"{file}: locked on {known.date} with other content and never locked again; undo "
                f"the change, or say it in {folder / AMENDMENTS} with sha256 {line.sha256}"
            )
        if known is line:
            text = extended(text, line)
            added.append(line)
    if added and date < last:
        raise OrlaError(
            f"{path}: its last line is dated {last}, after today ({date}); set the computer's clock"
        )
    if added:
        with atomic(path) as partial:
            partial.write_text(text)
    return added


def require(folders: Iterable[str | Path]) -> None:
    """Refuse (OrlaError) a folder without LOCK, with a command that makes an empty one."""
    for folder in folders:
        path = Path(folder) / LOCK
        if not path.is_file():
            raise OrlaError(
                f'config: "registrations.folders" has {folder}, which has no {LOCK}; make one with:'
                f" mkdir -p {folder} && touch {path}"
            )


def verify(folder: str | Path) -> dict[str, Locked]:
    """Check LOCK, and every registration of a folder, by name, against it and its amendments.

    Raises:
        OrlaError: A broken chain, a LOCK that disagrees with git, a file that is not locked or
            differs from its lock (a registration: and from its last amendment), a line without its
            file, or an amendment that does not fit.
    """
    folder = Path(folder)
    path, entries = folder / LOCK, read(folder)
    present = sorted((*folder.glob("*.yaml"), *(folder / AMENDMENTS).glob("*.yaml")))
    for file in present:
        if file.relative_to(folder).as_posix() not in entries:
            raise OrlaError(f"{file}: not in {path}; add it with: orla prereg lock {file}")
    for name, line in entries.items():
        if (file := folder / name) not in present:
            raise OrlaError(f"{file}: locked on {line.date} but missing; restore it from git")
    changes = _amended(folder, entries)
    told = history.compare(path, list(entries.values())) if path.exists() else []
    verified = {}
    for line, state in zip(entries.values(), told, strict=True):
        if line.file.startswith(f"{AMENDMENTS}/"):
            continue
        file = folder / line.file
        known, digest = tuple(changes.get(line.file, ())), sha256(file, MOST_TEXT)
        if digest != (known[-1].sha256 if known else line.sha256):
            raise OrlaError(
                f"{file}: differs from its {'last amendment' if known else 'lock'}; undo the "
                f"change, or lock an amendment in {folder / AMENDMENTS} with sha256 {digest}"
            )
        verified[file.stem] = Locked(line.file, line.sha256, line.date, digest, known, state)
    return verified


def _amended(folder: Path, entries: Mapping[str, Line]) -> dict[str, list[Amendment]]:
    """Amendments of each registration, in the order of LOCK; each must fit those lines."""
    found: dict[str, list[Amendment]] = {}
    for number, (name, line) in enumerate(entries.items()):
        path = folder / name
        if not name.startswith(f"{AMENDMENTS}/"):
            continue
        if sha256(path, MOST_TEXT) != line.sha256:
            raise OrlaError(
                f"{path}: differs from its lock; undo it, and write a further amendment"
            )
        for amendment in amendments.read(path):
            amended = amendment.registration
            if amended not in list(entries)[:number]:
                raise OrlaError(f'{path}: amends "{amended}", which is not in LOCK before it')
            locked = entries[amended].date
            if not locked <= day(amendment.date, str(path)) <= line.date:
                days = f"the days on which {amended} and it were locked, {locked} and {line.date}"
                raise OrlaError(f"{path}: dated {amendment.date}, not between {days}")
            found.setdefault(amended, []).append(amendment)
    return found


def _text(path: Path) -> str:
    """The text of LOCK; "" where there is none."""
    if not os.path.lexists(path):
        return ""
    with as_one_line(path, "not a text in UTF-8", "restore it from git"):
        return content(path, MOST_TEXT).decode()


def _name(folder: Path, file: Path) -> str:
    """A file's name in LOCK."""
    if not file.is_file():
        raise OrlaError(f"{file}: no such registration to lock; check the path")
    place, home = file.resolve().parent, folder.resolve()
    if file.suffix != ".yaml" or place not in (home, home / AMENDMENTS):
        places = f"a .yaml file in {folder}, an amendment one in {folder / AMENDMENTS}"
        raise OrlaError(f"{file}: a registration is {places}; move it there")
    return file.resolve().relative_to(home).as_posix()
