"""Size and sign of the past gradient beside the immediate, coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from orla.reports import paper_rows
from orla.reports.comparison import Mean, Sheet, printed
from orla.reports.numbers import is_missing
from orla.reports.panels import CELLS, EPISODE, Panels, titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel

_MEDIAN = "dominance"
# Our measure: the paper's name of it, our words for it, and the digits after the point.
_METRICS = {
    _MEDIAN: ("median of |g_past| / |g_imm|", "median of |g_past|/|g_imm|", 2),
    "past_wins_share": (
        "share with |g_past| > |g_imm|", "share with |g_past| > |g_imm|", 3
    ),
    "past_sign_sd": ("sd of sign(g_past)", "sd over windows of the mean sign(g_past)", 3),
    "past_sign_sd_coordinates": (
        "sd of sign(g_past)", "mean over coordinates of the sd of sign(g_past)", 3
    ),
    "sign_differs_share": (
        "share with sign(g_full) other than sign(g_imm)", "share with sign(g_full) ≠ sign(g_imm)", 3
    ),
}  # fmt: skip
_RATIO = "dominance_over_other"


class Substrate(
    Panels,
    name="substrate",
    label="Size and sign of the past gradient, coordinate by coordinate",
    chapter="mechanism",
    order=90,
    needs=("measured",),
    paper="dominance",
):
    """Coordinates of the recurrent weights, a column a network and optimizer of the paper's."""

    remarks = (
        "The paper does not say over what it takes the sd of the sign: both readings "
        "stand beside its one number.",
    )

    def papers(self, metric: str) -> list[dict[str, Any]]:
        """The paper's rows of a metric, a column each."""
        return [row for row in load().table(self.part.more["paper"]) if row["metric"] == metric]

    def says(self, study: StudyFacts) -> str:
        return (
            "Coordinates of the recurrent weights, over windows: g_past and g_imm under "
            f"{study.called('learner', paper_rows.full_learner())}. {CELLS}"
        )

    def columns(self, study: StudyFacts) -> list[Column]:
        names = (
            ", ".join(study.called(kind, row[kind]) for kind in ("architecture", "optimizer"))
            for row in self.papers(_METRICS[_MEDIAN][0])
        )
        return [Column("", "p{3.1cm}"), *(Column(name, "r") for name in names)]

    def panels(self, sheet: Sheet, measured: pd.DataFrame) -> Iterator[Panel]:
        study, columns = sheet.study, self.papers(_METRICS[_MEDIAN][0])
        sheet.take(measured)

        def fits(keys: Mapping[str, Any], column: Mapping[str, Any]) -> bool:
            same = all(keys[name] == column[name] for name in ("task", "optimizer"))
            return same and paper_rows.like(study, keys["architecture"], column)

        def shows(keys: Mapping[str, Any]) -> bool:
            full = keys["learner"] == paper_rows.full_learner()
            return full and any(fits(keys, column) for column in columns)

        conditions = paper_rows.conditions_with(measured, *_METRICS, fits=shows)
        conditions = paper_rows.drifting(conditions)
        blank = columns[0] if len(measured) else None
        for title, group in titled(study, conditions, EPISODE, blank):
            places = [
                next((keys for keys in group.to_dict("records") if fits(keys, column)), None)
                for column in columns
            ]
            yield Panel(title, [*self._lines(sheet, places), self._ratios(sheet, places)])

    def _lines(
        self, sheet: Sheet, places: Sequence[Mapping[str, Any] | None]
    ) -> Iterator[tuple[str, ...]]:
        columns = self.papers(_METRICS[_MEDIAN][0])
        for measure, (metric, words, digits) in _METRICS.items():
            papers = {(r.get("architecture"), r["optimizer"]): r for r in self.papers(metric)}
            yield (
                words,
                *(
                    sheet.cell(
                        keys or column,
                        measure,
                        sheet.mean(keys, measure),
                        printed(papers.get((column["architecture"], column["optimizer"])), "value"),
                        digits,
                    )
                    for keys, column in zip(places, columns, strict=True)
                ),
            )

    def _ratios(self, sheet: Sheet, places: Sequence[Mapping[str, Any] | None]) -> tuple[str, ...]:
        """The first network's median over that of the second, in the first network's columns."""
        columns = self.papers(_METRICS[_MEDIAN][0])
        by = {(c["architecture"], c["optimizer"]): k for k, c in zip(places, columns, strict=True)}
        first, second, *_ = dict.fromkeys(network for network, _ in by)
        rows = load().table(self.part.more["paper"])
        papers = {row["optimizer"]: row for row in rows if "architecture" not in row}
        names = [sheet.study.called("architecture", name) for name in (first, second)]
        cells = [f"{_METRICS[_MEDIAN][1]}, {names[0]} over {names[1]}"]
        for column in columns:
            optimizer = column["optimizer"]
            if column["architecture"] != first:
                cells.append("")
                continue
            keys = by[first, optimizer]
            both = [sheet.mean(by[network, optimizer], _MEDIAN) for network in (first, second)]
            ratio = None
            if None not in both and not any(is_missing(one.value) for one in both):
                ratio = Mean(both[0].value / both[1].value, n=min(one.n for one in both))
            there = printed(papers[optimizer], "value")
            cells.append(sheet.cell(keys or column, _RATIO, ratio, there))
        return tuple(cells)
