"""Rows of the paper's tables beside the conditions of a study: which is of which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY

Keys = Mapping[str, Any]
_GIVEN = ("task", "learner", "optimizer", "precision", "split")


def papers_structure() -> list[dict[str, Any]]:
    """The paper's rows of the past gradient's structure."""
    return load().table("structure")


def full_learner() -> str:
    """The learner that the paper measures the past gradient with."""
    return papers_structure()[0]["learner"]


def of_text(*columns: str, **more: str) -> list[dict[str, Any]]:
    """The rows that the paper's text adds with these columns, under its full learner."""
    rows = (row for row in load().table("text") if set(columns) <= set(row))
    return [row | {"learner": full_learner()} | more for row in rows]


def kind_of(study: StudyFacts, network: str) -> str:
    """The kind of a network, by its declaration; its name where it is no part."""
    return study.declaration("architecture", network).get("name", network)


def same_size(study: StudyFacts, network: str, row: Keys) -> bool:
    """Whether a network has as many units as that of a row of the paper."""
    size = study.options("architecture", network).get("hidden", HIDDEN)
    return size == row.get("hidden", HIDDEN)


def like(study: StudyFacts, network: str, row: Keys) -> bool:
    """Whether a network of the study is of the kind and size of a row of the paper."""
    return kind_of(study, network) == row["architecture"] and same_size(study, network, row)


def network_name(study: StudyFacts, network: str, row: Keys | None) -> str:
    """A network as a reader calls it; that of a row of the paper alone with its units."""
    sized = row is not None and not same_size(study, network, row)
    hidden = f", hidden {row.get('hidden', HIDDEN)}" if sized else ""
    return study.called("architecture", network) + hidden


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows without an intervention or another start."""
    return frame[np.logical_and.reduce([frame[name] == value for name, value in DEFAULTS.items()])]


def drifting(conditions: pd.DataFrame) -> pd.DataFrame:
    """The conditions without those of the stationary control."""
    return conditions[conditions["split"] != STATIONARY]


def conditions_with(
    measured: pd.DataFrame, *measures: str, fits: Callable[[Keys], bool]
) -> pd.DataFrame:
    """Key columns of the plain conditions that have one of these measures and fit, each once."""
    rows = plain(measured)
    rows = rows.loc[rows["measure"].isin(measures), list(KEYS)].drop_duplicates()
    return rows[np.fromiter(map(fits, rows.to_dict("records")), bool, len(rows))]


def beside(conditions: pd.DataFrame, rows: Sequence[Keys], study: StudyFacts) -> pd.DataFrame:
    """Conditions of the study and those of the paper that were not run, with the paper's row.

    A condition is that of a row where it agrees in all of task, learner, optimizer, precision and
    split that the row has, and its network is of the row's kind and size.

    Returns:
        Key columns; ``paper_row``, the place of the paper's row in `rows`, -1 for none; ``run``.
    """
    ran = [dict(keys, paper_row=-1, run=True) for keys in conditions.to_dict("records")]
    lacking = []
    for i, row in enumerate(rows):
        wanted = {name: row[name] for name in _GIVEN if row.get(name) is not None}
        alike = [
            keys
            for keys in ran
            if wanted.items() <= keys.items() and like(study, keys["architecture"], row)
        ]
        for keys in alike:
            keys["paper_row"] = i
        if not alike:
            blank = dict.fromkeys(KEYS, "") | DEFAULTS | wanted
            lacking.append(
                blank | {"architecture": row["architecture"], "paper_row": i, "run": False}
            )
    return pd.DataFrame(ran + lacking, columns=[*KEYS, "paper_row", "run"])
