"""Whether LOCK and the history of git agree."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from orla.errors import OrlaError
from orla.prereg.chain import Line
from orla.provenance.collect import git

GIT, UNCHECKED, UNCOMMITTED = "git", "not checked", "not committed"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class History:
    """What git says of LOCK.

    `imported` is the number of lines that came with the first commit of the repository, `committed`
    the number of lines in commits; `why` tells why nothing was compared, or is "".
    """

    imported: int = 0
    committed: int = 0
    why: str = ""

    def of(self, number: int) -> str:
        """What a verdict says of line `number`, counted from 0: git, not committed, not checked."""
        if self.why or number < self.imported:
            return UNCHECKED
        return GIT if number < self.committed else UNCOMMITTED


def compare(path: Path, lines: list[Line]) -> History:
    """Compare LOCK with every version of it that was committed.

    Nothing is compared outside a git work tree, in a shallow clone, or where LOCK is in no commit.
    A LOCK that came with the first commit of a repository was copied there with its lines, so the
    dates of those say nothing.

    Raises:
        OrlaError: A committed version is not the beginning of the present one, or a line is dated
            more than a day before or after the commit that brought it.
    """
    folder, present = path.resolve().parent, path.read_text().rstrip("\n") + "\n"
    if git(folder, "rev-parse", "--is-inside-work-tree") != "true":
        return History(why="no git work tree")
    if git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return History(why="a shallow clone has no history")
    log = git(folder, "log", "--reverse", "--format=%H %ct %P", "--", path.name)
    if not log:
        return History(why=f"{path.name} is in no commit")
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
    return History(imported, committed)
