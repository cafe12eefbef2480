"""Tables whose columns are networks or learners of the paper: cosine, condition number, size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from orla.reports.beside import CELLS, BesidePaper
from orla.reports.cells import Cell, Row, beside, value
from orla.reports.comparison import (
    Beside,
    Mean,
    by_condition,
    mean_of_condition,
    means_by_keys,
    printed,
)
from orla.reports.numbers import is_missing
from orla.reports.paper_rows import EPISODE, drifting, full_learner, like, plain, titled
from orla.reports.study import StudyFacts
from orla.reports.table import Column
from orla.study.keys import KEYS
from orla.study.plan import STATIONARY


def _conditions(measured: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """The plain conditions that have one of these measures, with their means."""
    rows = plain(measured)
    some = rows[rows["measure"].isin(measures)].groupby(list(KEYS), sort=False).groups
    means = means_by_keys(rows)
    return by_condition({keys: means[keys] for keys in some})


# The first is what the paper measures, and what its numbers stand beside.
_COSINES = {"window_cosine_last": "at windows' ends", "window_cosine": "of whole windows"}


class Decorrelation(
    BesidePaper,
    name="decorrelation",
    label="Cosine by the autocorrelation of the input",
    chapter="mechanism",
    order=60,
    needs=("measured",),
    paper="input_correlation",
):
    """A row an autocorrelation, a column a network: copies of AR(1) noise that does not change."""

    remarks = ("The paper measures it at the end of a window: of the last step's loss alone.",)

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return (
            f"Copies of AR(1) noise {self.papers_rows[0]['delay_steps']} steps before, without a "
            "shift: mean over windows of cos(g_imm, g_past), of a window's last loss and of all of "
            "its losses, g_full by backpropagation through the window, by the autocorrelation ρ of "
            f"the input. {CELLS}"
        )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        rho = value("ρ", "rho", "{:g}".format)
        return [
            rho,
            *(
                beside(study.called("architecture", name), name, digits=3, signed=True)
                for name in self.papers_values("architecture")
            ),
        ]

    def rows(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Conditions of tasks that copy their input after as many steps as the paper's."""
        rows = _conditions(measured, *_COSINES)
        delay = self.papers_rows[0]["delay_steps"]
        tasks = {name: study.options("task", name) for name in rows["task"]}
        rhos = {name: o.get("rho") for name, o in tasks.items() if o.get("delay") == delay}
        rows = rows.assign(rho=rows["task"].map(rhos))
        return rows[(rows["split"] == STATIONARY) & rows["rho"].notna()]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        by, first = ("learner", "optimizer", "precision"), self.papers_rows[0]
        papers = {(row["rho"], row["architecture"]): row for row in self.papers_rows}

        def number(conditions: list[Row], rho: float, name: str, measure: str) -> Beside:
            paper = papers.get((rho, name))
            wanted = paper or {**first, "architecture": name}
            ours = (
                keys
                for keys in conditions
                if keys["rho"] == rho and like(study, keys["architecture"], wanted)
            )
            keys = next(ours, None)
            said = printed(paper, "cosine") if measure == next(iter(_COSINES)) else None
            return Beside(keys or wanted, measure, mean_of_condition(keys, measure), said)

        names = self.papers_values("architecture")
        alike = [
            any(like(study, name, r) for r in self.papers_rows) for name in rows["architecture"]
        ]
        rows = rows[np.array(alike, dtype=bool)]
        for title, group in titled(study, rows, by, first):
            conditions = (group if len(rows) else rows).to_dict("records")
            rhos = sorted({row["rho"] for row in [*self.papers_rows, *conditions]})
            have = [m for m in _COSINES if any(m in row["means"] for row in conditions)]
            for measure in have or [*_COSINES][:1]:
                lines = [
                    {"rho": rho} | {name: number(conditions, rho, name, measure) for name in names}
                    for rho in rhos
                ]
                yield f"{title}, {_COSINES[measure]}", lines


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


class Substrate(
    BesidePaper,
    name="substrate",
    label="Size and sign of the past gradient, coordinate by coordinate",
    chapter="mechanism",
    order=90,
    needs=("measured",),
    paper="dominance",
):
    """Coordinates of the recurrent weights, a column a network and optimizer of the paper's."""

    says = (
        "Coordinates of the recurrent weights, over windows: g_past and g_imm under {full}. "
        + CELLS
    )
    remarks = (
        "The paper does not say over what it takes the sd of the sign: both readings "
        "stand beside its one number.",
    )

    def of_metric(self, metric: str) -> dict[tuple[str | None, str], Row]:
        """The paper's rows of a metric, by network and optimizer."""
        rows = (row for row in self.papers_rows if row.get("metric") == metric)
        return {(row.get("architecture"), row["optimizer"]): row for row in rows}

    @property
    def places(self) -> dict[tuple[str, str], Row]:
        """The columns, each with a row of the paper."""
        return self.of_metric(_METRICS[_MEDIAN][0])

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        def column(place: tuple[str, str]) -> Cell:
            kinds = zip(("architecture", "optimizer"), place, strict=True)
            header = ", ".join(study.called(kind, name) for kind, name in kinds)
            return Cell(
                Column(header, "r"),
                lambda line: line.row[place].text(line.row["digits"]) if place in line.row else "",
                lambda line: [line.row[place]] if place in line.row else [],
            )

        return [value("", "words", str, align="p{3.1cm}"), *map(column, self.places)]

    def rows(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """The conditions of the paper's full learner that have a column."""
        rows = drifting(_conditions(measured, *_METRICS))
        rows = rows[rows["learner"] == full_learner()]
        return rows[[self._place(keys, study) is not None for keys in rows.to_dict("records")]]

    def _place(self, keys: Row, study: StudyFacts) -> tuple[str, str] | None:
        """The column of a condition; None where the paper has none."""
        alike = (
            place
            for place, row in self.places.items()
            if all(keys[name] == row[name] for name in ("task", "optimizer"))
            and like(study, keys["architecture"], row)
        )
        return next(alike, None)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        first, second, *_ = dict.fromkeys(network for network, _ in self.places)
        names = [study.called("architecture", name) for name in (first, second)]
        words = f"{_METRICS[_MEDIAN][1]}, {names[0]} over {names[1]}"
        for title, group in titled(study, rows, EPISODE, next(iter(self.places.values()))):
            conditions = group.to_dict("records")[::-1]
            conditions = {self._place(keys, study): keys for keys in conditions}
            lines = [
                {"words": words, "digits": digits}
                | {
                    place: Beside(
                        conditions.get(place, row),
                        measure,
                        mean_of_condition(conditions.get(place), measure),
                        printed(self.of_metric(metric).get(place), "value"),
                    )
                    for place, row in self.places.items()
                }
                for measure, (metric, words, digits) in _METRICS.items()
            ]
            yield (
                title,
                [*lines, {"words": words, "digits": 2} | self._ratios(lines[0], first, second)],
            )

    def _ratios(self, medians: Row, first: str, second: str) -> dict[tuple[str, str], Beside]:
        """The first network's median over that of the second, in the first network's columns."""
        papers = {row["optimizer"]: row for row in self.papers_rows if "architecture" not in row}
        ratios = {}
        for network, optimizer in self.places:
            if network == first:
                above, below = (medians[name, optimizer] for name in (first, second))
                ratio = None
                if not any(
                    one.ours is None or is_missing(one.ours.value) for one in (above, below)
                ):
                    n = min(one.ours.n for one in (above, below))
                    ratio = Mean(above.ours.value / below.ours.value, n=n)
                paper = printed(papers[optimizer], "value")
                ratios[first, optimizer] = Beside(above.keys, "dominance_over_other", ratio, paper)
        return ratios
