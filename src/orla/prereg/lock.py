"""The lock: the digest and date of each registration, and its later amendments.

A line of LOCK is ``SHA-256  date  file``. A registration that differs from its line is refused
unless a dated file in ``amendments/`` names it and the SHA-256 that it now has; once amended it
stays amended, even where it is changed back.
"""

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.files import atomic, sha256
from orla.prereg.documents import SCHEMAS, day, load

LOCK = "LOCK"
AMENDMENTS = "amendments"
_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64}) +(?P<date>\d{4}-\d{2}-\d{2}) +(?P<file>\S+\.yaml)")


@dataclass(frozen=True)
class Locked:
    """A registration's line in the lock: its file, SHA-256 and date, and whether it was amended."""

    file: str
    sha256: str
    date: datetime.date
    amended: bool = False


def read(folder: str | Path) -> dict[str, Locked]:
    """Read LOCK without looking at the registrations.

    Parameters
    ----------
    folder
        The folder of registrations. Without a LOCK nothing is locked.

    Returns
    -------
    dict
        File name -> its line.

    Raises
    ------
    OrlaError
        On a line that is not one, or a file that is locked twice.
    """
    path = Path(folder) / LOCK
    entries: dict[str, Locked] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise OrlaError(
                f'{path}: line {number} is not "SHA-256 date file"; restore it from git'
            )
        name = match["file"]
        if name in entries:
            raise OrlaError(f"{path}: line {number} locks {name} again; keep the first line")
        date = day(match["date"], f"{path}: line {number}, date")
        entries[name] = Locked(name, match["sha256"], date)
    return entries


def write(
    folder: str | Path, files: Iterable[str | Path], date: datetime.date | None = None
) -> list[Locked]:
    """Add registrations to LOCK.

    Parameters
    ----------
    folder
        The folder of registrations.
    files
        Registrations in that folder. One that is locked already with the same content is skipped.
    date
        The day of locking; today if not given.

    Returns
    -------
    list
        The lines added.

    Raises
    ------
    OrlaError
        When a file is missing, lies elsewhere, or was locked with other content. Then nothing is
        added.
    """
    folder = Path(folder)
    entries = read(folder)
    added = []
    for path in map(Path, files):
        if not path.is_file():
            raise OrlaError(f"{path}: no such registration to lock; check the path")
        if path.suffix != ".yaml" or path.resolve().parent != folder.resolve():
            raise OrlaError(f"{path}: a registration is a .yaml file in {folder}; move it there")
        known, content = entries.get(path.name), sha256(path)
        if known is None:
            line = Locked(path.name, content, date or datetime.date.today())
            entries[path.name] = line
            added.append(line)
        elif known.sha256 != content:
            raise OrlaError(
                f"{path}: locked on {known.date} with other content and never locked again; undo "
                f"the change, or say it in {folder / AMENDMENTS} with sha256 {content}"
            )
    if added:
        with atomic(folder / LOCK) as partial:
            lines = (f"{line.sha256}  {line.date}  {line.file}\n" for line in entries.values())
            partial.write_text("".join(lines))
    return added


def verify(folder: str | Path) -> dict[str, Locked]:
    """Check every registration of a folder against its lock and its amendments.

    Parameters
    ----------
    folder
        The folder of registrations, with LOCK and ``amendments/``.

    Returns
    -------
    dict
        Name (file name without suffix) -> its line as locked, marked where amended.

    Raises
    ------
    OrlaError
        On a registration that is not locked or differs from its lock and last amendment, a line
        without its file, or an amendment that does not fit.
    """
    folder = Path(folder)
    entries = read(folder)
    amendments = _amendments(folder, entries)
    present = {path.name: path for path in sorted(folder.glob("*.yaml"))}
    for name, path in present.items():
        if name not in entries:
            raise OrlaError(
                f"{path}: not in {folder / LOCK}; add it with: python -m orla prereg lock {path}"
            )
    verified = {}
    for name, line in entries.items():
        if name not in present:
            raise OrlaError(
                f"{folder / name}: locked on {line.date} but missing; restore it from git"
            )
        history = amendments.get(name, [])
        expected = history[-1]["sha256"] if history else line.sha256
        content = sha256(present[name])
        if content != expected:
            last = "last amendment" if history else "lock"
            raise OrlaError(
                f"{present[name]}: differs from its {last}; undo "
                f"the change, or add a dated file to {folder / AMENDMENTS} that names {name}, "
                f"sha256 {content}, what changed, why, and whether results had been seen"
            )
        verified[Path(name).stem] = Locked(name, line.sha256, line.date, amended=bool(history))
    return verified


def digest(folder: str | Path) -> str:
    """SHA-256 of LOCK itself, for a result's provenance.

    Raises
    ------
    OrlaError
        When there is no LOCK.
    """
    path = Path(folder) / LOCK
    if not path.is_file():
        raise OrlaError(f"{path}: missing; lock the registrations with: python -m orla prereg lock")
    return sha256(path)


def _amendments(folder: Path, entries: dict[str, Locked]) -> dict[str, list[dict[str, Any]]]:
    """Amendments of each registration, the latest last (by date, then by file name)."""
    by_file: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((folder / AMENDMENTS).glob("*.yaml")):
        amendment = load(path, SCHEMAS / "amendment.schema.yaml")
        name = amendment["registration"]
        if name not in entries:
            raise OrlaError(f'{path}: amends "{name}", which is not in {folder / LOCK}')
        if day(amendment["date"], str(path)) < entries[name].date:
            raise OrlaError(f"{path}: dated before {name} was locked ({entries[name].date})")
        by_file.setdefault(name, []).append(amendment)
    for history in by_file.values():
        history.sort(key=lambda amendment: amendment["date"])
    return by_file
