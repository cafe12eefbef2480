"""The lock: digest and date of each registration and of each amendment, in one chain.

A registration that differs from its line is refused unless an amendment, itself locked, names it
and the SHA-256 that it now has; once amended it stays amended, even where it is changed back.
"""

import datetime
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from orla import files
from orla.errors import OrlaError
from orla.files import as_one_line, atomic, sha256
from orla.prereg import chain, history
from orla.prereg.amendments import AMENDMENTS, Amendment, read_all
from orla.prereg.chain import Line

LOCK = "LOCK"


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


def read(folder: str | Path) -> dict[str, Line]:
    """File, relative to a folder of registrations -> its line in LOCK; nothing without a LOCK.

    Raises:
        OrlaError: As in `orla.prereg.chain.parse`.
    """
    path = Path(folder) / LOCK
    return {line.file: line for line in chain.parse(_text(path), path)}


def write(
    folder: str | Path, files: Iterable[str | Path], date: datetime.date | None = None
) -> list[Line]:
    """Add registrations of a folder, or amendments in its ``amendments``, to LOCK.

    One that is locked already with the same content is skipped. The day of locking is today if it
    is not given. The lines that were added are returned.

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
            text = chain.extended(text, line)
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
    """Refuse a folder without LOCK.

    Raises:
        OrlaError: Naming a command that makes one, in which nothing is locked.
    """
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
            raise OrlaError(
                f"{file}: not in {path}; add it with: python -m orla prereg lock {file}"
            )
    for name, line in entries.items():
        if folder / name not in present:
            raise OrlaError(
                f"{folder / name}: locked on {line.date} but missing; restore it from git"
            )
    amendments = read_all(folder, entries)
    told = history.compare(path, list(entries.values())) if path.exists() else history.History()
    verified = {}
    for number, line in enumerate(entries.values()):
        if line.file.startswith(f"{AMENDMENTS}/"):
            continue
        file = folder / line.file
        known, content = tuple(amendments.get(line.file, ())), sha256(file, files.MOST_TEXT)
        if content != (known[-1].sha256 if known else line.sha256):
            raise OrlaError(
                f"{file}: differs from its {'last amendment' if known else 'lock'}; undo the "
                f"change, or add a dated file to {folder / AMENDMENTS} that names {line.file}, "
                f"sha256 {content}, what changed, why, and whether results had been seen, and "
                "lock that file"
            )
        fields = (line.file, line.sha256, line.date, content, known, told.of(number))
        verified[file.stem] = Locked(*fields)
    return verified


def _text(path: Path) -> str:
    """The text of LOCK; "" where there is none."""
    if not os.path.lexists(path):
        return ""
    with as_one_line(path, "not a text in UTF-8", "restore it from git"):
        return files.content(path, files.MOST_TEXT).decode()


def _name(folder: Path, file: Path) -> str:
    """A file's name in LOCK."""
    if not file.is_file():
        raise OrlaError(f"{file}: no such registration to lock; check the path")
    place, home = file.resolve().parent, folder.resolve()
    if file.suffix != ".yaml" or place not in (home, home / AMENDMENTS):
        raise OrlaError(
            f"{file}: a registration is a .yaml file in {folder}, an amendment one in "
            f"{folder / AMENDMENTS}; move it there"
        )
    return file.resolve().relative_to(home).as_posix()
