"""What is lost where the past gradient's first direction is taken out, network by network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import measured as shared
from orla.reports.measured import Mean, Sheet, mean_of
from orla.reports.numbers import MISSING, estimate, number
from orla.reports.panels import papers_first
from orla.reports.paper import load
from orla.reports.paper_rows import Theirs
from orla.reports.pooled import notes_on_pairs, pairs_as_rows
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import NOT_RUN
from orla.statistics.bootstrap import Interval, spearman
from orla.statistics.permutation import spearman_p
from orla.study.keys import DEFAULTS, KEYS

_TOP1 = "top1_past"
_COLUMNS = [
    Column("Network"),
    Column("top1 of G_past", "r"),
    Column("plain", "r", "Held-out recovery (%)"),
    Column("changed", "r", "Held-out recovery (%)"),
    Column("Lost (pp)", "r"),
]


class ProjectedOut(
    Table,
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

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        sheet = Sheet(study)
        rows = [row for row in load().table(self.part.more["paper"]) if _is_test(row)]
        by = [*KEYS]
        changed = pairs_as_rows(models[models["optimizer"] == rows[0]["optimizer"]])
        base = shared.plain(changed)
        changed = changed[
            (changed["intervention"] != DEFAULTS["intervention"])
            & (changed["start"] == DEFAULTS["start"])
        ]
        panels = []
        groups = study.groups(changed, "learner", "optimizer")
        for title, keys, found in papers_first(study, groups):
            same = {**keys, **DEFAULTS}
            own = base[(base[by] == pd.Series(same)[by]).all(axis=1)]
            pairs = _pairs(own, found)
            if len(pairs):
                known = study.declaration("intervention", keys["intervention"])
                tested = rows[0]["ours"]["intervention"]
                own_rows = rows if known.get("name", tested) == tested else []
                panels.append(Panel(title, _lines(sheet, {**keys}, pairs, own_rows)))
        if not panels and len(models):
            blank = {name: rows[0].get(name, "") for name in KEYS}
            title = study.called("optimizer", rows[0]["optimizer"])
            panels = [Panel(title, _summary(sheet, blank, None, None, rows))]
        return self.document(
            study,
            "Whether networks whose past gradient is concentrated (top1, without the "
            "intervention) lose more held-out recovery by it. Below: Spearman's rank correlation "
            "of top1 and what is lost, 95 % BCa bootstrap interval over networks, and its "
            "permutation p; of interventions that the paper tests otherwise the mean loss ± half "
            "of its 95 % t interval.",
            columns=_COLUMNS,
            panels=panels,
            notes=[
                "The paper projects u_1 of G_past out of each window's gradient.",
                *notes_on_pairs(changed),
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _is_test(row: Mapping[str, Any]) -> bool:
    return "intervention" in row and "spearman" in row


def _pairs(plain: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Networks that ran both, with the concentration of the plain run; none without any."""
    if _TOP1 not in plain:
        return plain.iloc[:0]
    columns = ["seed", shared.RECOVERY]
    pairs = plain[[*columns, _TOP1]].merge(changed[columns], on="seed", suffixes=("", "_changed"))
    pairs = pairs.sort_values("seed", ignore_index=True)
    pairs["lost"] = pairs[shared.RECOVERY] - pairs[f"{shared.RECOVERY}_changed"]
    return pairs if np.isfinite(pairs[_TOP1]).any() else pairs.iloc[:0]


def _lines(
    sheet: Sheet, keys: Mapping[str, Any], pairs: pd.DataFrame, rows: list[dict[str, Any]]
) -> list[tuple[str, ...]]:
    lines = []
    for row in pairs.to_dict("records"):
        sheet.note(keys, f"lost_pp, {_name(row['seed'])}", Mean(row["lost"], n=1), None)
        sheet.note(keys, f"{_TOP1}, {_name(row['seed'])}", Mean(row[_TOP1], n=1), None)
        lines.append(
            (
                _name(row["seed"]),
                number(row[_TOP1], 2),
                number(row[shared.RECOVERY]),
                number(row[f"{shared.RECOVERY}_changed"]),
                number(row["lost"], 1, signed=True),
            )
        )
    if not rows:
        lost = mean_of(pairs["lost"])
        sheet.note(keys, "lost_pp", lost, None)
        return [*lines, ("mean", "", "", "", shared.shown(lost, 1, signed=True))]
    finite = pairs[np.isfinite(pairs[[_TOP1, "lost"]]).all(axis=1)]
    x, y = (finite[name].to_numpy(float) for name in (_TOP1, "lost"))
    found = spearman(x, y) if len(finite) > 1 else None
    p = spearman_p(x, y) if found else None
    return lines + _summary(sheet, keys, found, p, rows, len(finite))


def _name(network: int | str) -> str:
    """Of a row: the seed of a network, or a pair's own name."""
    return network if isinstance(network, str) else f"seed {network}"


def _summary(
    sheet: Sheet,
    keys: Mapping[str, Any],
    found: Interval | None,
    p: float | None,
    rows: list[dict[str, Any]],
    n: int = 0,
) -> list[tuple[str, ...]]:
    """The rank correlation, ours and the paper's at each number of networks."""
    ours = Mean(found.estimate, found.low, found.high, n) if found else None
    ends = estimate(*ours[:3], digits=3, signed=True) if ours else NOT_RUN
    told = f"\nn = {n}, p = {number(p, 3)}" if p is not None else ""
    lines = [(f"rank correlation{told}", "", "", "", ends)]
    for row in rows:
        paper = Theirs(row["spearman"], row.get("low"), row.get("high"), row["place"])
        said = sheet.note(keys, f"spearman, paper n = {row['n_seeds']}", ours, paper)
        judged = "" if said == MISSING else f"\n({said})"
        text = paper.text(3, signed=True, ends=True)
        lines.append((f"the paper, n = {row['n_seeds']}", "", "", "", f"{text}{judged}"))
    return lines
