"""Conditions of a study beside the rows of the paper's tables: which is of which, in panels."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from orla.reports.comparison import by_condition, means_by_keys
from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts, where
from orla.reports.words import NOT_RUN
from orla.statistics.means import moments
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY

Keys = Mapping[str, Any]
# What sets the panels of a table apart whose lines are networks.
EPISODE = ("task", "pair", "precision", "split")
# What a row of the paper says of its condition.
GIVEN = ("task", "learner", "optimizer", "precision", "split")
_NAME = "over {} pairs"
_ON_PAIRS = (
    "Over pairs: a pair's number is the mean over its networks; n, intervals and what is paired "
    "are of pairs."
)


def papers_structure() -> list[dict[str, Any]]:
    """The paper's rows of the past gradient's structure."""
    return load().table("structure")


def full_learner() -> str:
    """The learner that the paper measures the past gradient with."""
    return papers_structure()[0]["learner"]


def in_text(*columns: str, **more: str) -> list[dict[str, Any]]:
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
    return where(frame, **DEFAULTS)


def drifting(conditions: pd.DataFrame) -> pd.DataFrame:
    """The conditions without those of the stationary control."""
    return conditions[conditions["split"] != STATIONARY]


def having(measured: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """The plain conditions that have one of these measures, with their means."""
    rows = plain(by_condition(means_by_keys(measured)))
    return rows[rows["means"].map(lambda means: any(n in means for n in measures)).astype(bool)]


def beside_paper(
    conditions: pd.DataFrame,
    rows: Sequence[Keys],
    study: StudyFacts,
    means: Mapping[tuple, Any],
    given: Sequence[str] = GIVEN,
) -> pd.DataFrame:
    """Conditions with the paper's row of each, and those of the paper that were not run.

    A condition is that of a row where it agrees in all that is given and that the row has, and its
    network is of the row's kind and size.

    Args:
        conditions: of `orla.reports.comparison.by_condition`, perhaps with further columns.
        rows, study: the paper's; names of the study.
        means: by key columns, for conditions of the paper that diverged.
        given: columns.
    """
    ran = [{**keys, "paper": None, "run": True} for keys in conditions.to_dict("records")]
    lacking = []
    for row in rows:
        wanted = {name: row[name] for name in given if row.get(name) is not None}
        alike = [
            keys
            for keys in ran
            if wanted.items() <= keys.items() and like(study, keys["architecture"], row)
        ]
        for keys in alike:
            keys["paper"] = row
        if not alike:
            keys = {name: row.get(name) or "" for name in KEYS} | DEFAULTS
            more = {"means": means.get(tuple(keys.values()), {}), "paper": row, "run": False}
            lacking.append(keys | wanted | more)
    return pd.DataFrame(ran + lacking, columns=[*conditions, "paper", "run"])


def titled(
    study: StudyFacts, frame: pd.DataFrame, by: Sequence[str], blank: Keys | None = None
) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each value of some key columns, with a title; in the order of `ran_first`.

    Networks that were pretrained otherwise than others of the study stand apart.
    ``blank`` is a row of the paper, whose condition stands alone where there are no rows.
    """
    if frame.empty and blank is not None:
        frame = pd.DataFrame([{name: blank.get(name, "") for name in KEYS} | DEFAULTS])
    if frame.empty:
        return []
    by = [*by, "pretraining"]
    frame = frame.assign(pretraining=frame["architecture"].map(study.pretrained))
    groups = study.arrange(frame).groupby(by, sort=False)
    return ran_first(
        (
            ", ".join(study.called(k, v) for k, v in zip(by, values, strict=True) if v) or NOT_RUN,
            rows,
        )
        for values, rows in groups
    )


def ran_first(groups: Iterable[tuple[str, pd.DataFrame]]) -> list[tuple[str, pd.DataFrame]]:
    """Titles and rows: what the paper has too, what it has not, and last what was not run."""

    def place(group: tuple[str, pd.DataFrame]) -> tuple[bool, bool]:
        rows = group[1]
        lacks = "run" in rows and not rows["run"].any()
        return lacks, "paper" in rows and rows["paper"].isna().all()

    return sorted(groups, key=place)


def papers_first(study: StudyFacts, groups: Iterable[Any]) -> list[Any]:
    """Groups of `StudyFacts.groups`, those on the paper's recordings first."""
    papers = study.papers_task or next(iter(study.recordings), "")
    return sorted(groups, key=lambda group: group.keys["task"] != papers)


def over_pairs(measured: pd.DataFrame) -> pd.DataFrame:
    """The table `measured`, with one row over all pairs where a task has several."""

    def pooled(group: pd.DataFrame) -> pd.DataFrame:
        by = [name for name in (*KEYS, "measure") if name not in ("task", "pair")]
        rows = []
        for values, one in group.groupby(by, sort=False):
            moment = moments(one["mean"])
            row = dict(zip(by, values, strict=True), task=one["task"].iloc[0])
            row |= dict(zip(("t95_low", "t95_high"), moment.interval(), strict=True))
            row |= {"mean": moment.mean, "sd": moment.sd, "n_seeds": moment.n}
            rows.append(row | {"n_diverged": one["n_diverged"].sum()})
        return pd.DataFrame(rows, columns=group.columns)

    return _where_several(measured, pooled)


def pairs_as_rows(models: pd.DataFrame) -> pd.DataFrame:
    """The models; where a task has several pairs, means over each, its name under ``seed``."""

    def pooled(group: pd.DataFrame) -> pd.DataFrame:
        numbers = group.select_dtypes("number").columns.difference(["seed", *KEYS], sort=False)
        by = group.groupby(list(KEYS), sort=False)
        means = by[list(numbers)].mean().assign(diverged=by["diverged"].any()).reset_index()
        return means.assign(seed=means["pair"])

    return _where_several(models, pooled)


def _where_several(
    frame: pd.DataFrame, pooled: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """The rows of tasks with one pair, and those of `pooled` for a task with several."""
    parts = []
    for _, group in frame.groupby("task", sort=False):
        pairs = group["pair"].nunique()
        parts.append(pooled(group).assign(pair=_NAME.format(pairs)) if pairs > 1 else group)
    return pd.concat(parts, ignore_index=True) if parts else frame


def notes_on_pretraining(records: Iterable[Keys], study: StudyFacts) -> list[str]:
    """How the networks that ran were pretrained, where that is not one for all of the study."""
    ran = dict.fromkeys(record["architecture"] for record in records if record["run"])
    told = [
        f"{study.called('architecture', network)}: {how}"
        for network in study.ordered("architecture", ran)
        if (how := study.pretrained(network))
    ]
    return [f"{'; '.join(told)}."] if told else []


def notes_on_pairs(pairs: Iterable[str]) -> list[str]:
    """What the numbers over pairs are, where one of these pairs is several; else []."""
    pooled = re.compile(_NAME.format(r"\d+"))
    return [_ON_PAIRS] if any(map(pooled.fullmatch, pairs)) else []
