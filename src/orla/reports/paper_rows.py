"""Conditions of a study beside the rows of the paper's tables: which is of which, in panels."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from orla.reports.comparison import MEAN, by_condition, mean_of, means_by_keys
from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts, where
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY

Keys = Mapping[str, Any]
_NAME = "over {} pairs"
_ON_PAIRS = """Over pairs: a pair's number is the mean over its networks; n, intervals and what is
paired are of pairs."""


def papers_structure() -> list[dict[str, Any]]:
    """The paper's rows of the past gradient's structure."""
    return load().table("structure")


def full_learner() -> str:
    """The learner that the paper measures the past gradient with."""
    return papers_structure()[0]["learner"]


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


def papers_first(study: StudyFacts, groups: Iterable[Any]) -> list[Any]:
    """Groups of `StudyFacts.groups`, those on the paper's recordings first."""
    papers = study.papers_task or next(iter(study.recordings), "")
    return sorted(groups, key=lambda group: group.keys["task"] != papers)


def over_pairs(measured: pd.DataFrame) -> pd.DataFrame:
    """The table `measured`, with one row over all pairs where a task has several."""

    def pooled(group: pd.DataFrame) -> pd.DataFrame:
        by = [name for name in (*KEYS, "measure") if name != "pair"]
        rows = [
            [*values, *mean_of(one["mean"], one["n_diverged"].sum())[:5]]
            for values, one in group.groupby(by, sort=False)
        ]
        return pd.DataFrame(rows, columns=[*by, *MEAN])

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


def notes_on_pairs(records: Iterable[Keys]) -> list[str]:
    """What the numbers over pairs are, where one of these rows is of several; else []."""
    several = (re.fullmatch(_NAME.format(r"\d+"), record["pair"]) for record in records)
    return [_ON_PAIRS] if any(several) else []
