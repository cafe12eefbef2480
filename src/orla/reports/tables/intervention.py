"""What is lost where the past gradient's first direction is taken out, network by network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import paper_rows
from orla.reports.comparison import (
    NOT_COMPARABLE,
    RECOVERY,
    Mean,
    Printed,
    Sheet,
    mean_of,
    mean_text,
)
from orla.reports.numbers import estimate, number
from orla.reports.panels import Panels, papers_first
from orla.reports.paper import load
from orla.reports.pooled import pairs_as_rows
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.reports.tables.shared import NOT_RUN
from orla.statistics.bootstrap import spearman
from orla.statistics.permutation import spearman_p
from orla.study.keys import DEFAULTS, KEYS

_TOP1 = "top1_past"


class ProjectedOut(
    Panels,
    name="intervention",
    label="The first direction of the past gradient taken out",
    chapter="mechanism",
    order=40,
    needs=("heldout",),
    paper="text",
):
    """Recovery lost by an intervention, beside how concentrated G_past was without it.

    With the optimizer of the paper's test, a line a network and the rank correlation below.
    """

    remarks = ("The paper projects u_1 of G_past out of each window's gradient.",)

    def rows(self) -> list[dict[str, Any]]:
        """The paper's tests of an intervention."""
        rows = load().table(self.part.more["paper"])
        return [row for row in rows if {"intervention", "spearman"} <= set(row)]

    def says(self, study: StudyFacts) -> str:
        return (
            "Whether networks whose past gradient is concentrated (top1, without the "
            "intervention) lose more held-out recovery by it. Below: Spearman's rank correlation "
            "of top1 and what is lost, 95 % BCa bootstrap interval over networks, and its "
            "permutation p; of interventions that the paper tests otherwise the mean loss ± half "
            "of its 95 % t interval."
        )

    def columns(self, study: StudyFacts) -> list[Column]:
        recovery = "Held-out recovery (%)"
        return [
            Column("Network"),
            Column("top1 of G_past", "r"),
            Column("plain", "r", recovery),
            Column("changed", "r", recovery),
            Column("Lost (pp)", "r"),
        ]

    def panels(self, sheet: Sheet, models: pd.DataFrame) -> Iterator[Panel]:
        study, rows, blank = sheet.study, self.rows(), len(models) > 0
        models = pairs_as_rows(models[models["optimizer"] == rows[0]["optimizer"]])
        plain = paper_rows.plain(models)
        changed = models[models["start"] == DEFAULTS["start"]]
        changed = changed[changed["intervention"] != DEFAULTS["intervention"]]
        groups = study.groups(changed, "learner", "optimizer")
        for title, keys, group in papers_first(study, groups):
            same = pd.Series({**keys, **DEFAULTS})[list(KEYS)]
            pairs = _pairs(plain[(plain[list(KEYS)] == same).all(axis=1)], group)
            if len(pairs):
                blank, tested = False, rows[0]["ours"]["intervention"]
                part = study.declaration("intervention", keys["intervention"])
                papers = rows if part.get("name", tested) == tested else []
                yield Panel(
                    title, [*_losses(sheet, keys, pairs), *_rank(sheet, keys, pairs, papers)]
                )
        if blank:
            title = study.called("optimizer", rows[0]["optimizer"])
            yield Panel(title, [*_rank(sheet, rows[0], None, rows)])


def _pairs(plain: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Networks that ran both, with the concentration of the plain run; none without any."""
    if _TOP1 not in plain:
        return plain.iloc[:0]
    columns = ["seed", RECOVERY]
    both = plain[[*columns, _TOP1]].merge(changed[columns], on="seed", suffixes=("", "_changed"))
    both = both.sort_values("seed", ignore_index=True)
    both["lost"] = both[RECOVERY] - both[f"{RECOVERY}_changed"]
    return both if np.isfinite(both[_TOP1]).any() else both.iloc[:0]


def _losses(
    sheet: Sheet, keys: Mapping[str, Any], pairs: pd.DataFrame
) -> Iterator[tuple[str, ...]]:
    """A line a network, or a pair of sessions by its name."""
    for row in pairs.to_dict("records"):
        name = row["seed"] if isinstance(row["seed"], str) else f"seed {row['seed']}"
        sheet.note(keys, f"lost_pp, {name}", Mean(row["lost"], n=1))
        sheet.note(keys, f"{_TOP1}, {name}", Mean(row[_TOP1], n=1))
        recoveries = (number(row[column]) for column in (RECOVERY, f"{RECOVERY}_changed"))
        lost = number(row["lost"], 1, signed=True)
        yield (name, number(row[_TOP1], 2), *recoveries, lost)


def _rank(
    sheet: Sheet,
    keys: Mapping[str, Any],
    pairs: pd.DataFrame | None,
    papers: list[dict[str, Any]],
) -> Iterator[tuple[str, ...]]:
    """The rank correlation, ours and the paper's at each number of networks; else the mean."""
    if not papers:
        lost = mean_of(pairs["lost"])
        sheet.note(keys, "lost_pp", lost)
        yield ("mean", "", "", "", mean_text(lost, 1, signed=True))
        return
    ours, words, ends = None, "", NOT_RUN
    if pairs is not None:
        finite = pairs[np.isfinite(pairs[[_TOP1, "lost"]]).all(axis=1)]
        x, y = (finite[name].to_numpy(float) for name in (_TOP1, "lost"))
        if len(finite) > 1:
            rank = spearman(x, y)
            ours = Mean(rank.estimate, rank.low, rank.high, len(finite))
            words = f"\nn = {len(finite)}, p = {number(spearman_p(x, y), 3)}"
            ends = estimate(*ours[:3], digits=3, signed=True)
    yield (f"rank correlation{words}", "", "", "", ends)
    for row in papers:
        n = f"paper n = {row['n_seeds']}"
        paper = Printed(row["spearman"], row.get("low"), row.get("high"), row["place"])
        said = sheet.note(keys, f"spearman, {n}", ours, paper)
        judged = "" if said == NOT_COMPARABLE else f"\n({said})"
        text = paper.text(3, signed=True, ends=True)
        yield (f"the {n.replace(' ', ', ', 1)}", "", "", "", f"{text}{judged}")
