"""The lock: digest and date of each registration and of each amendment, in one chain."""

import datetime
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orla.errors import OrlaError
from orla.files import MOST_TEXT, atomic, read_file, reraise_in_one_line, sha256
from orla.prereg import amendments
from orla.prereg.amendments import AMENDMENTS, Amendment
from orla.prereg.documents import parse_date
from orla.provenance.collect import git_output

LOCK = "LOCK"
GIT, UNCHECKED, UNCOMMITTED = "git", "not checked", "not committed"
CHAIN_START = datetime.date(2026, 11, 22)
"""The day on which the chain began; a line without a chain is not dated later."""

_DAY = datetime.timedelta(days=1)
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

    def __str__(self) -> str:
        return f"{self.sha256}  {self.date}  {self.file}"


@dataclass(frozen=True)
class Lock(Line):
    """The lock of a verified registration: its line in LOCK, and the SHA-256 of its present file.

    `history` is one of "git", "not committed" and "not checked".
    """

    judged_sha256: str = ""
    amendments: tuple[Amendment, ...] = ()
    history: str = UNCHECKED


def parse_and_verify_lock(text: str, path: Path) -> list[Line]:
    """Read the text of LOCK and check its chain (OrlaError); `path` names it in an error.

    A line is ``SHA-256 date file chain=HASH``, where HASH is the SHA-256 of the whole text before
    the line followed by the line's first three fields. So a line that was changed, removed or put
    in between is noticed at the next one. Lines older than the chain have three fields, and stand
    first.
    """
    lines: dict[str, Line] = {}
    preceding_text, has_chain, last_date = "", False, datetime.date.min
    for number, raw in enumerate(text.splitlines(keepends=True), start=1):
        place = f"{path}: line {number}"
        if (match := _LINE.fullmatch(raw.rstrip())) is None:
            expected = '"SHA-256 date file chain=SHA-256"'
            raise OrlaError(f"{place} is not {expected}; restore it from git")
        file, date = match["file"], parse_date(match["date"], f"{place}, date")
        line = Line(file, match["sha256"], date)
        if file in lines:
            raise OrlaError(f"{place} locks {file} again; keep the first line")
        if date < last_date:
            above = f"before the line above it ({last_date})"
            raise OrlaError(f"{place} is dated {date}, {above}; restore LOCK from git")
        if match["chain"] is None and (has_chain or date > CHAIN_START):
            raise OrlaError(f"{place} has no chain; lock {file} with: orla prereg lock")
        if match["chain"] not in (None, _chain_hash(preceding_text, line)):
            fault = f"the chain is broken at line {number} ({file}): this line or one above"
            raise OrlaError(f"{path}: {fault} was changed, added or removed; restore it from git")
        lines[file] = line
        preceding_text += raw
        has_chain, last_date = match["chain"] is not None, date
    return list(lines.values())


def append_line(text: str, line: Line) -> str:
    """The text of LOCK with one more line."""
    preceding_text = text if not text or text.endswith("\n") else text + "\n"
    return f"{preceding_text}{line}  chain={_chain_hash(preceding_text, line)}\n"


def _chain_hash(preceding_text: str, line: Line) -> str:
    return hashlib.sha256(f"{preceding_text}{line}".encode()).hexdigest()


def read_lock(folder: str | Path) -> dict[str, Line]:
    """File, relative to a folder of registrations -> its line in LOCK; nothing without a LOCK."""
    path = Path(folder) / LOCK
    return {line.file: line for line in parse_and_verify_lock(_lock_text(path), path)}


def lock_files(
    folder: str | Path, files: Iterable[str | Path], date: datetime.date | None = None
) -> list[Line]:
    """Add registrations, or amendments in ``amendments``, to LOCK; return the new lines.

    One that is locked already with the same content is skipped. OrlaError, and nothing is added: a
    file is missing, lies elsewhere, was locked with other content, or LOCK holds a later date.
    """
    folder, date = Path(folder), date or datetime.date.today()
    path, entries = folder / LOCK, read_lock(folder)
    text, new_lines = _lock_text(path), []
    last_date = max((line.date for line in entries.values()), default=date)
    for file in map(Path, files):
        line = Line(_name_in_lock(folder, file), sha256(file), date)
        entry = entries.setdefault(line.file, line)
        if entry.sha256 != line.sha256:
            other = f"locked on {entry.date} with other content"
            raise OrlaError(f"{file}: {other}; undo the change, or say it in an amendment")
        if entry is line:
            text = append_line(text, line)
            new_lines.append(line)
    if not new_lines:
        return []
    if date < last_date:
        problem = f"its last line is dated {last_date}, after today ({date})"
        raise OrlaError(f"{path}: {problem}; set the computer's clock")
    with atomic(path) as partial:
        partial.write_text(text)
    return new_lines


def require_lock_files(folders: Iterable[str | Path]) -> None:
    """Refuse (OrlaError) a folder without LOCK, with a command that makes an empty one."""
    for folder in folders:
        path = Path(folder) / LOCK
        if not path.is_file():
            raise OrlaError(
                f'config: "registrations.folders" has {folder}, which has no {LOCK}; make one with:'
                f" mkdir -p {folder} && touch {path}"
            )


def verify_folder(folder: str | Path) -> dict[str, Lock]:
    """Check LOCK and every registration of a folder, by name, against it (OrlaError).

    A registration that differs from its line is refused unless an amendment, itself locked, names
    it and the SHA-256 that it now has; once amended it stays so, even where it is changed back.
    """
    folder = Path(folder)
    path, entries = folder / LOCK, read_lock(folder)
    present = sorted((*folder.glob("*.yaml"), *(folder / AMENDMENTS).glob("*.yaml")))
    for file in present:
        if file.relative_to(folder).as_posix() not in entries:
            raise OrlaError(f"{file}: not in {path}; add it with: orla prereg lock {file}")
    for name, line in entries.items():
        if (file := folder / name) not in present:
            raise OrlaError(f"{file}: locked on {line.date} but missing; restore it from git")
    changes = amendments.read_folder_amendments(folder, entries)
    histories = _commit_states(path, list(entries.values())) if path.exists() else []
    locks = {}
    for line, state in zip(entries.values(), histories, strict=True):
        if line.file.startswith(f"{AMENDMENTS}/"):
            continue
        file = folder / line.file
        edits, digest = tuple(changes.get(line.file, ())), sha256(file, MOST_TEXT)
        if digest != (edits[-1].sha256 if edits else line.sha256):
            raise OrlaError(
                f"{file}: differs from its {'last amendment' if edits else 'lock'}; undo the "
                f"change, or lock an amendment in {folder / AMENDMENTS} with sha256 {digest}"
            )
        locks[file.stem] = Lock(line.file, line.sha256, line.date, digest, edits, state)
    return locks


def _commit_states(path: Path, lines: Sequence[Line]) -> list[str]:
    """Whether each line of LOCK was committed, was not, or cannot be checked, as verdicts say it.

    Nothing is compared outside a git work tree, in a shallow clone, or where LOCK is in no commit.
    A LOCK that came with the first commit of a repository was copied there with its lines, so the
    dates of those say nothing. OrlaError: a committed line was changed, or is dated more than a day
    before or after its commit.
    """
    folder = path.resolve().parent
    is_tree = git_output(folder, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository")
    log = git_output(folder, "log", "--reverse", "--format=%H %ct %P", "--", path.name)
    if is_tree != "true\nfalse" or not log:
        return [UNCHECKED] * len(lines)
    present = path.read_text().rstrip("\n") + "\n"
    n_imported = n_committed = 0
    for commit, seconds, *parents in map(str.split, log.splitlines()):
        text = git_output(folder, "show", f"{commit}:./{path.name}")
        if not text:  # the commit removed LOCK, or brought an empty one
            continue
        day = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).date()
        if not present.startswith(f"{text}\n"):
            raise OrlaError(
                f"{path}: the version committed on {day} is not the beginning of the present one, "
                "so a line was changed or removed; restore it with: git checkout "
                f"{commit[:9]} -- {path}"
            )
        count = len(text.splitlines())
        if not parents:
            n_imported = count
        for line in lines[n_committed:count] if parents else ():
            if abs(line.date - day) > _DAY:
                order = "before" if line.date < day else "after"
                problem = f"{line.file} is dated {line.date}, more than a day {order} the commit"
                raise OrlaError(f"{path}: {problem} that locked it, {day}; commit it on its day")
        n_committed = max(n_committed, count)
    states = [UNCHECKED] * n_imported + [GIT] * (n_committed - n_imported)
    return states + [UNCOMMITTED] * (len(lines) - len(states))


def _lock_text(path: Path) -> str:
    """The text of LOCK; "" where there is none."""
    if not os.path.lexists(path):
        return ""
    with reraise_in_one_line(path, "not a text in UTF-8", "restore it from git"):
        return read_file(path, MOST_TEXT).decode()


def _name_in_lock(folder: Path, file: Path) -> str:
    if not file.is_file():
        raise OrlaError(f"{file}: no such registration to lock; check the path")
    place, home = file.resolve().parent, folder.resolve()
    if file.suffix != ".yaml" or place not in (home, home / AMENDMENTS):
        places = f"a .yaml file in {folder}, an amendment one in {folder / AMENDMENTS}"
        raise OrlaError(f"{file}: a registration is {places}; move it there")
    return file.resolve().relative_to(home).as_posix()
