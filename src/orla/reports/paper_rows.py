"""Rows of the paper's tables beside the conditions of a study: which is of which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orla.reports.numbers import number
from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts
from orla.study.keys import DEFAULTS, KEYS

_GIVEN = ("task", "learner", "optimizer", "precision", "split")


class Theirs(NamedTuple):
    """A number of the paper with its interval, or the range that it gives in place of one."""

    value: float
    low: float | None = None
    high: float | None = None
    place: str = ""
    is_range: bool = False

    @property
    def spread(self) -> float | None:
        """Half of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def text(self, digits: int, signed: bool, ends: bool = False) -> str:
        """The number, with its interval where `ends`; a range by its two ends."""
        if self.is_range:
            return f"{number(self.low, digits)} to {number(self.high, digits)}"
        text = number(self.value, digits, signed)
        if not ends or self.spread is None:
            return text
        return f"{text} [{number(self.low, digits)},\u00a0{number(self.high, digits)}]"


def theirs(row: Mapping[str, Any] | None, name: str, ending: str = "") -> Theirs | None:
    """A number of a row of the paper, by the name of its column; None where it has none.

    A row with ``NAME_from`` and ``NAME_to`` has a range.

    Args:
        row: as `Paper.table` gives it, or None.
        name: the column, such as top1_past.
        ending: what follows "low" and "high" in the columns of its interval, such as _percent.
    """
    if not row:
        return None
    place = str(row.get("place", ""))
    if f"{name}_from" in row:
        low, high = row[f"{name}_from"], row[f"{name}_to"]
        return Theirs((low + high) / 2, low, high, place, is_range=True)
    if name not in row:
        return None
    return Theirs(row[name], row.get(f"low{ending}"), row.get(f"high{ending}"), place)


def papers_structure() -> list[dict[str, Any]]:
    """The paper's rows of the past gradient's structure."""
    return load().table("structure")


def full_learner() -> str:
    """The learner that the paper measures the past gradient with."""
    return papers_structure()[0]["learner"]


def like(study: StudyFacts, own: str, row: Mapping[str, Any]) -> bool:
    """Whether a network of the study is of the kind and size of a row of the paper."""
    return own_kind(study, own) == row["architecture"] and same_size(study, own, row)


def own_kind(study: StudyFacts, network: str) -> str:
    """The kind of a network, by its declaration; its own name where it is no part."""
    return study.declaration("architecture", network).get("name", network)


def same_size(study: StudyFacts, network: str, row: Mapping[str, Any]) -> bool:
    """Whether a network has as many units as the paper's."""
    size = study.options("architecture", network).get("hidden", HIDDEN)
    return size == row.get("hidden", HIDDEN)


def beside(
    conditions: pd.DataFrame, rows: Sequence[Mapping[str, Any]], study: StudyFacts
) -> pd.DataFrame:
    """Own conditions and those of the paper that were not run, with the paper's row of each.

    A condition is that of a row where it agrees in all of task, learner, optimizer, precision and
    split that the row has, and its network is of the row's kind and size.

    Returns:
        Key columns; ``theirs``, the place of the paper's row in `rows`, -1 for none; ``run``.
    """
    own = [dict(keys, theirs=-1, run=True) for keys in conditions.to_dict("records")]
    lacking = []
    for i, row in enumerate(rows):
        wanted = {name: row[name] for name in _GIVEN if row.get(name) is not None}
        found = [
            keys
            for keys in own
            if wanted.items() <= keys.items() and like(study, keys["architecture"], row)
        ]
        for keys in found:
            keys["theirs"] = i
        if not found:
            blank = dict.fromkeys(KEYS, "") | DEFAULTS
            more = {"architecture": row["architecture"], "theirs": i, "run": False}
            lacking.append(blank | wanted | more)
    return pd.DataFrame(own + lacking, columns=[*KEYS, "theirs", "run"])


def of_row(rows: Sequence[Mapping[str, Any]], place: int) -> Mapping[str, Any] | None:
    """The paper's row at a place that `beside` gives, None for -1."""
    return None if place < 0 else rows[place]


def network_name(study: StudyFacts, keys: Mapping[str, Any], row: Mapping[str, Any] | None) -> str:
    """A network as a reader calls it; that of a row of the paper alone with its units."""
    name = study.called("architecture", keys["architecture"])
    if row and not same_size(study, keys["architecture"], row):
        return f"{name}, hidden {row.get('hidden', HIDDEN)}"
    return name
