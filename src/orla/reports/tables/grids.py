"""Tables whose columns are networks or learners of the paper: cosine, condition number, size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orla.reports.beside import CELLS, BesidePaper
from orla.reports.cells import Cell, Line, Row, beside, called, cell, value
from orla.reports.comparison import (
    Beside,
    Mean,
    by_condition,
    mean_of,
    mean_of_condition,
    means_by_keys,
    printed,
    seeds,
)
from orla.reports.numbers import MISSING, is_missing
from orla.reports.paper import load
from orla.reports.paper_rows import EPISODE, drifting, full_learner, like, plain, titled
from orla.reports.study import StudyFacts
from orla.reports.table import Column
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY


def _grid(header: str, name: Any, group: str = "", **how: Any) -> Cell:
    """A column of a grid, whose lines hold a number beside the paper's under its name."""
    return beside(header, lambda line: line.row[name], group, **how)


def _conditions(measured: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """The plain conditions that have one of these measures, with their means."""
    rows = plain(measured)
    some = rows[rows["measure"].isin(measures)].groupby(list(KEYS), sort=False).groups
    means = means_by_keys(rows)
    return by_condition({keys: means[keys] for keys in some})


_COSINE = "window_cosine"


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

    remarks = ("The paper measures it at the end of a window, ours is of whole windows.",)

    @property
    def networks(self) -> list[str]:
        """The paper's networks."""
        return list(dict.fromkeys(row["architecture"] for row in self.papers_rows))

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return (
            f"Copies of AR(1) noise {self.papers_rows[0]['delay_steps']} steps before, without a "
            "shift: mean over windows of cos(g_imm, g_past), g_full by backpropagation through "
            f"the window, by the autocorrelation ρ of the input. {CELLS}"
        )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        names = ((study.called("architecture", name), name) for name in self.networks)
        return [
            value("ρ", "rho", "{:g}".format),
            *(_grid(*names, digits=3, signed=True) for names in names),
        ]

    def rows(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Conditions of tasks that copy their input after as many steps as the paper's."""
        rows = _conditions(measured, _COSINE)
        delay = self.papers_rows[0]["delay_steps"]
        tasks = {name: study.options("task", name) for name in rows["task"]}
        rhos = {name: o.get("rho") for name, o in tasks.items() if o.get("delay") == delay}
        rows = rows.assign(rho=rows["task"].map(rhos))
        alike = rows["architecture"].map(
            {
                name: any(like(study, name, row) for row in self.papers_rows)
                for name in rows["architecture"]
            }
        )
        return rows[alike.eq(True) & (rows["split"] == STATIONARY) & rows["rho"].notna()]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        by = ("learner", "optimizer", "precision")
        for title, group in titled(study, rows, by, self.papers_rows[0]):
            conditions = (group if len(rows) else rows).to_dict("records")
            each = sorted({row["rho"] for row in [*self.papers_rows, *conditions]})
            yield (
                title,
                [
                    {"rho": rho}
                    | {name: self._number(study, conditions, rho, name) for name in self.networks}
                    for rho in each
                ],
            )

    def _number(self, study: StudyFacts, conditions: list[Row], rho: float, name: str) -> Beside:
        papers = {(row["rho"], row["architecture"]): row for row in self.papers_rows}
        paper = papers.get((rho, name))
        wanted = paper or {**self.papers_rows[0], "architecture": name}
        ours = (
            keys
            for keys in conditions
            if keys["rho"] == rho and like(study, keys["architecture"], wanted)
        )
        keys = next(ours, None)
        mean = mean_of_condition(keys, _COSINE)
        return Beside(keys or wanted, _COSINE, mean, printed(paper, "cosine"))


_JACOBIAN, _ERROR = "condition_number", "adapt_error"


class Isotropy(
    BesidePaper,
    name="isotropy",
    label="Error by the imposed condition number",
    chapter="mechanism",
    order=50,
    needs=("heldout",),
    paper="condition_number",
):
    """Networks whose recurrent weights have a prescribed condition number, a row each.

    Such a network has the option ``condition``.
    """

    remarks = (
        "Where ∂h/∂θ does not follow W_hh, nothing was imposed on it, and equal errors "
        "say nothing of isotropy. Its condition number is that of the second learner's "
        "networks, of the first where the second's was not measured.",
    )

    @property
    def learners(self) -> list[str]:
        """The paper's two learners."""
        return list(dict.fromkeys(row["learner"] for row in self.papers_rows))

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        names = [study.called("learner", name) for name in self.learners]
        return (
            "Networks by the condition number that W_hh starts pretraining with: that of the "
            f"step's Jacobian ∂h/∂θ as adaptation measures it, squared error after the shift of "
            f"{names[0]} and {names[1]}, and whether the 95 % t interval of their difference, "
            f"paired by network, holds 0. {CELLS}"
        )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        names = ((study.called("learner", name), name) for name in self.learners)
        imposed = value("W_hh", "imposed", "{:g}".format, "Condition number")
        return [
            imposed._replace(numbers=lambda line: [line.row["difference"]]),
            _grid("∂h/∂θ", _JACOBIAN, "Condition number", digits=1),
            called("optimizer"),
            cell("n", lambda line: seeds(line.row["seeds"])),
            *(_grid(*names, "Squared error", digits=5) for names in names),
            cell("Alike", self._alike, align="l"),
        ]

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """The models of the two learners in networks with a condition number, "imposed"."""
        rows = drifting(plain(models))
        networks = {name: study.options("architecture", name) for name in rows["architecture"]}
        imposed = {name: options.get("condition", np.nan) for name, options in networks.items()}
        rows = rows.assign(imposed=rows["architecture"].map(imposed).astype(float))
        return rows[rows["imposed"].notna() & rows["learner"].isin(self.learners)]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        papers = {float(row["condition_number"]) for row in self.papers_rows}
        for title, group in titled(study, rows, EPISODE, self.papers_rows[0]):
            group = group if len(rows) else rows
            yield (
                title,
                [
                    self._line(imposed, optimizer, here[here["optimizer"] == optimizer])
                    for imposed in sorted(papers | {*group["imposed"]})
                    for here in [group[group["imposed"] == imposed]]
                    for optimizer in study.present(here, "optimizer") or [""]
                ],
            )

    def _line(self, imposed: float, optimizer: str, rows: pd.DataFrame) -> Row:
        text = next(row for row in load().table("text") if "imposed" in row)
        papers = {r["learner"]: r for r in self.papers_rows if r["condition_number"] == imposed}
        sides = {name: rows[rows["learner"] == name] for name in self.learners}
        blank = {"task": text["task"]} | DEFAULTS
        keys = {n: dict(r[list(KEYS)].iloc[0]) if len(r) else blank for n, r in sides.items()}
        errors = {name: _mean(side, _ERROR) for name, side in sides.items()}
        jacobians = {name: _mean(side, _JACOBIAN) for name, side in sides.items()}
        last = next((name for name in reversed(sides) if jacobians[name]), [*sides][-1])
        difference = _difference(*sides.values())
        there = printed(text, _JACOBIAN) if papers else None
        return {
            "imposed": imposed,
            "optimizer": optimizer,
            "difference": Beside(keys[[*sides][-1]], f"{_ERROR}_difference", difference),
            _JACOBIAN: Beside(keys[last], _JACOBIAN, jacobians[last], there),
            "seeds": difference or next(filter(None, errors.values()), None),
            "papers": next(iter(papers.values()), {}).get("within_interval"),
        } | {
            name: Beside(keys[name], _ERROR, error, printed(papers.get(name), "mse"))
            for name, error in errors.items()
        }

    def _alike(self, line: Line) -> str:
        ours, papers = line.row["difference"].ours, line.row["papers"]
        alike = MISSING
        if ours is not None and not is_missing(ours.low):
            alike = "yes" if ours.low <= 0 <= ours.high else "no"
        return alike if papers is None else f"{alike}\n{'yes' if papers else 'no'}"


def _mean(rows: pd.DataFrame, column: str) -> Mean | None:
    """Over seeds; None where none has it and none diverged."""
    if rows.empty or column not in rows:
        return None
    mean = mean_of(rows[column], int(rows["diverged"].sum()))
    return mean if mean.n or mean.diverged else None


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> Mean | None:
    """First minus second learner's error, paired by network."""
    if first.empty or second.empty:
        return None
    pairs = first.merge(second, on=["seed"], suffixes=("", "_other"))
    lost = pairs["diverged"].astype(bool) | pairs["diverged_other"].astype(bool)
    return mean_of(pairs[_ERROR] - pairs[f"{_ERROR}_other"], int(lost.sum()))


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

    remarks = (
        "The paper does not say over what it takes the sd of the sign: both readings "
        "stand beside its one number.",
    )

    def papers(self, metric: str) -> dict[tuple[str | None, str], Row]:
        """The paper's rows of a metric, by network and optimizer."""
        rows = (row for row in self.papers_rows if row.get("metric") == metric)
        return {(row.get("architecture"), row["optimizer"]): row for row in rows}

    @property
    def places(self) -> dict[tuple[str, str], Row]:
        """The columns, each with a row of the paper."""
        return self.papers(_METRICS[_MEDIAN][0])

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return (
            "Coordinates of the recurrent weights, over windows: g_past and g_imm under "
            f"{study.called('learner', full_learner())}. {CELLS}"
        )

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
                        printed(self.papers(metric).get(place), "value"),
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
