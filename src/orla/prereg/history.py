"""Whether LOCK and the history of git agree."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orla.errors import OrlaError
from orla.provenance.collect import git

GIT, UNCHECKED, UNCOMMITTED = "git", "not checked", "not committed"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Line:
    """One line of LOCK: a file (relative to LOCK's folder), its SHA-256, and when it was locked."""

    file: str
    sha256: str
    date: datetime.date


def compare(path: Path, lines: Sequence[Line]) -> list[str]:
    """Compare LOCK with every version of it that was committed.

    Nothing is compared outside a git work tree, in a shallow clone, or where LOCK is in no commit.
    A LOCK that came with the first commit of a repository was copied there with its lines, so the
    dates of those say nothing.

    Returns:
        What a verdict says of each line: git, not committed, not checked.

    Raises:
        OrlaError: A committed version is not the beginning of the present one, or a line is dated
            more than a day before or after the commit that brought it.
    """
    folder, log = path.resolve().parent, ""
    if (
        git(folder, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository")
        == "true\nfalse"
    ):
        log = git(folder, "log", "--reverse", "--format=%H %ct %P", "--", path.name)
    if not log:
        return [UNCHECKED] * len(lines)
    present = path.read_text().rstrip("\n") + "\n"
    imported = committed = 0
    for commit, seconds, *parents in map(str.split, log.splitlines()):
        text = git(folder, "show", f"{commit}:./{path.name}")
        if not text:  # the commit removed LOCK, or brought an empty one
            continue
        when = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).date()
        if not present.startswith(f"{text}\n"):
            raise OrlaError(
                f"{path}: the version committed on {when} ({commit[:9]}) is not the beginning of "
                "the present one, so a line was changed or removed; restore it with: git checkout "
                f"{commit[:9]} -- {path}"
            )
        count = len(text.splitlines())
        if not parents:
            imported = count
        for line in lines[committed:count] if parents else ():
            if abs(line.date - when) > _DAY:
                order = "before" if line.date < when else "after"
                raise OrlaError(
                    f"{path}: {line.file} is dated {line.date}, more than a day {order} the commit "
                    f"that locked it ({when}); commit LOCK on the day of locking"
                )
        committed = max(committed, count)
    states = [UNCHECKED] * imported + [GIT] * (committed - imported)
    return states + [UNCOMMITTED] * (len(lines) - len(states))
