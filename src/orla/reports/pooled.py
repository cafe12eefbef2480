"""Several pairs of sessions as one: tables whose numbers are over pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pandas as pd

from orla.statistics.means import moments
from orla.study.keys import KEYS

_NAME = "over {} pairs"
_ON_PAIRS = (
    "Over pairs: a pair's number is the mean over its networks; n, intervals and what is paired "
    "are of pairs."
)


def over_pairs(measured: pd.DataFrame) -> pd.DataFrame:
    """The table `measured`, with one row over all pairs where a task has several.

    The mean is over pairs' means, its interval and ``n_seeds`` are over pairs.
    """

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
    """The models, with one row a pair where a task has several: means over the pair's networks.

    The pair's name stands under ``seed``, so that what is paired by network is paired by pair.
    """

    def pooled(group: pd.DataFrame) -> pd.DataFrame:
        numbers = group.select_dtypes("number").columns.difference(["seed", *KEYS], sort=False)
        by = group.groupby(list(KEYS), sort=False)
        means = by[list(numbers)].mean()
        means["diverged"] = by["diverged"].any()
        means = means.reset_index()
        return means.assign(seed=means["pair"])

    return _where_several(models, pooled)


def notes_on_pairs(pairs: Iterable[str]) -> list[str]:
    """What the numbers over pairs are, where one of these pairs is several; else []."""
    pooled = re.compile(_NAME.format(r"\d+"))
    return [_ON_PAIRS] if any(pooled.fullmatch(pair) for pair in pairs) else []


def _where_several(
    frame: pd.DataFrame, pooled: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """The rows of tasks with one pair, and those of `pooled` for a task with several."""
    parts = []
    for _, group in frame.groupby("task", sort=False):
        pairs = group["pair"].nunique()
        parts.append(pooled(group).assign(pair=_NAME.format(pairs)) if pairs > 1 else group)
    return pd.concat(parts, ignore_index=True) if parts else frame
