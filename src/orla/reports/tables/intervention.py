"""What is lost where the past gradient's first direction is taken out, network by network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla.reports.beside import BesidePaper
from orla.reports.cells import Row, value
from orla.reports.comparison import (
    NOT_COMPARABLE,
    RECOVERY,
    Beside,
    Mean,
    Printed,
    mean_of,
    mean_text,
)
from orla.reports.numbers import estimate, number
from orla.reports.paper import load
from orla.reports.paper_rows import pairs_as_rows, papers_first, plain
from orla.reports.study import StudyFacts
from orla.reports.tables.shared import NOT_RUN
from orla.statistics.bootstrap import spearman
from orla.statistics.permutation import spearman_p
from orla.study.keys import DEFAULTS, KEYS

_TOP1 = "top1_past"
_RECOVERIES = "Held-out recovery (%)"


class ProjectedOut(
    BesidePaper,
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

    says = (
        "Whether networks whose past gradient is concentrated (top1, without the "
        "intervention) lose more held-out recovery by it. Below: Spearman's rank correlation "
        "of top1 and what is lost, 95 % BCa bootstrap interval over networks, and its "
        "permutation p; of interventions that the paper tests otherwise the mean loss ± half "
        "of its 95 % t interval."
    )
    cells = (
        value("Network", "name", str, align="l"),
        value("top1 of G_past", "top1", str),
        value("plain", "plain", str, _RECOVERIES),
        value("changed", "changed", str, _RECOVERIES),
        value("Lost (pp)", "lost", str)._replace(numbers=lambda line: line.row["numbers"]),
    )
    remarks = ("The paper projects u_1 of G_past out of each window's gradient.",)

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The paper's tests of an intervention."""
        return [row for row in load().table("text") if {"intervention", "spearman"} <= set(row)]

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        return pairs_as_rows(models[models["optimizer"] == self.papers_rows[0]["optimizer"]])

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        first, blank = self.papers_rows[0], True
        tested, unchanged = first["ours"]["intervention"], plain(rows)
        changed = rows[rows["start"] == DEFAULTS["start"]]
        changed = changed[changed["intervention"] != DEFAULTS["intervention"]]
        groups = study.groups(changed, "learner", "optimizer")
        for title, keys, group in papers_first(study, groups):
            same = pd.Series({**keys, **DEFAULTS})[list(KEYS)]
            pairs = _pairs(unchanged[(unchanged[list(KEYS)] == same).all(axis=1)], group)
            if len(pairs):
                blank = False
                part = study.declaration("intervention", keys["intervention"])
                papers = part.get("name", tested) == tested
                below = self._rank(keys, pairs) if papers else [_mean(keys, pairs["lost"])]
                yield title, [*_losses(keys, pairs), *below]
        if blank:
            yield study.called("optimizer", first["optimizer"]), self._rank(first, None)

    def _rank(self, keys: Row, pairs: pd.DataFrame | None) -> list[Row]:
        """The rank correlation, ours and the paper's at each number of networks."""
        ours, words, ends = None, "", NOT_RUN
        if pairs is not None:
            finite = pairs[np.isfinite(pairs[[_TOP1, "lost"]]).all(axis=1)]
            x, y = (finite[name].to_numpy(float) for name in (_TOP1, "lost"))
            if len(finite) > 1:
                rank = spearman(x, y)
                ours = Mean(rank.estimate, rank.low, rank.high, len(finite))
                words = f"\nn = {len(finite)}, p = {number(spearman_p(x, y), 3)}"
                ends = estimate(*ours[:3], digits=3, signed=True)
        lines = [_line(f"rank correlation{words}", ends)]
        for row in self.papers_rows:
            n = f"paper n = {row['n_seeds']}"
            paper = Printed(row["spearman"], row.get("low"), row.get("high"), row["place"])
            both = Beside(keys, f"spearman, {n}", ours, paper)
            judged = "" if both.said == NOT_COMPARABLE else f"\n({both.said})"
            text = paper.text(3, signed=True, ends=True)
            lines.append(_line(f"the {n.replace(' ', ', ', 1)}", f"{text}{judged}", both))
        return lines


def _line(name: str, lost: str, *numbers: Beside, **more: str) -> dict[str, Any]:
    blank = {"top1": "", "plain": "", "changed": ""}
    return blank | {"name": name, "lost": lost, "numbers": numbers} | more


def _mean(keys: Row, lost: pd.Series) -> dict[str, Any]:
    mean = mean_of(lost)
    return _line("mean", mean_text(mean, 1, signed=True), Beside(keys, "lost_pp", mean))


def _pairs(unchanged: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Networks that ran both, with the concentration of the plain run; none without any."""
    if _TOP1 not in unchanged:
        return unchanged.iloc[:0]
    columns = ["seed", RECOVERY]
    both = unchanged[[*columns, _TOP1]].merge(
        changed[columns], on="seed", suffixes=("", "_changed")
    )
    both = both.sort_values("seed", ignore_index=True)
    both["lost"] = both[RECOVERY] - both[f"{RECOVERY}_changed"]
    return both if np.isfinite(both[_TOP1]).any() else both.iloc[:0]


def _losses(keys: Row, pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A line a network, or a pair of sessions by its name."""
    for row in pairs.to_dict("records"):
        name = row["seed"] if isinstance(row["seed"], str) else f"seed {row['seed']}"
        yield _line(
            name,
            number(row["lost"], 1, signed=True),
            Beside(keys, f"lost_pp, {name}", Mean(row["lost"], n=1)),
            Beside(keys, f"{_TOP1}, {name}", Mean(row[_TOP1], n=1)),
            top1=number(row[_TOP1], 2),
            plain=number(row[RECOVERY]),
            changed=number(row[f"{RECOVERY}_changed"]),
        )
