"""Amendments: dated files that say how a locked registration was changed, or what had been seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.files import MOST_TEXT, sha256
from orla.prereg.documents import load_document, parse_date

AMENDMENTS = "amendments"
ResultsSeen = bool | list[Mapping[str, str]]


@dataclass(frozen=True)
class Amendment:
    """An amendment of the file `registration`, which then had the SHA-256 `sha256`.

    The two are equal to those of the locked file where only `results_seen` is stated. `former` is
    the outcome by the rules before it, or "".
    """

    registration: str
    sha256: str
    date: str
    changed: str
    why: str
    results_seen: ResultsSeen
    former: str = ""

    @property
    def seen_text(self) -> str:
        """In words, what had been seen when it was written."""
        return f"amended on {self.date}: {seen_in_words(self.results_seen)}"

    @property
    def saw_something(self) -> bool:
        """Whether any result had been seen."""
        if isinstance(self.results_seen, bool):
            return self.results_seen
        return any(each["seen"] != "none" for each in self.results_seen)


def read_amendments(path: Path) -> list[Amendment]:
    """A file of amendments: one a registration that it names. OrlaError if not by its schema."""
    document = load_document(path, "amendment")
    digests, former = document.pop("registrations", None), document.pop("former", {})
    if digests is None:
        digests = {document.pop("registration"): document.pop("sha256")}
    if unknown := former.keys() - digests:
        raise OrlaError(f'{path}: "former" has {min(unknown)}, which it does not amend; remove it')
    return [
        Amendment(name, digest, former=former.get(name, ""), **document)
        for name, digest in digests.items()
    ]


def read_folder_amendments(folder: Path, entries: Mapping[str, Any]) -> dict[str, list[Amendment]]:
    """Amendments of each registration, in the order of LOCK's `entries`, which they must fit."""
    by_registration: dict[str, list[Amendment]] = {}
    for number, (name, line) in enumerate(entries.items()):
        path = folder / name
        if not name.startswith(f"{AMENDMENTS}/"):
            continue
        if sha256(path, MOST_TEXT) != line.sha256:
            fix = "undo it, and write a further amendment"
            raise OrlaError(f"{path}: differs from its lock; {fix}")
        for amendment in read_amendments(path):
            target = amendment.registration
            if target not in list(entries)[:number]:
                raise OrlaError(f'{path}: amends "{target}", which is not in LOCK before it')
            lock_date = entries[target].date
            if not lock_date <= parse_date(amendment.date, str(path)) <= line.date:
                days = f"the days on which {target} and it were locked, {lock_date} and {line.date}"
                raise OrlaError(f"{path}: dated {amendment.date}, not between {days}")
            by_registration.setdefault(target, []).append(amendment)
    return by_registration


def seen_in_words(results_seen: ResultsSeen) -> str:
    """What had been seen, in words: one clause a data set."""
    if isinstance(results_seen, bool):
        return "results had been seen" if results_seen else "no result had been seen"
    return "; ".join(
        f"{each['data']}: {each['seen']} seen by {each['by']} "
        f"({' '.join(each['statement'].split())})"
        for each in results_seen
    )
