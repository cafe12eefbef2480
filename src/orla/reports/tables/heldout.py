"""Held-out recovery of every condition, beside refitted decoders and the paper."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from orla.reports.cells import Line, Row, cell, n_diverged, part_name, seeds_and_diverged, value
from orla.reports.estimates import (
    BASELINES,
    NO_MEANING,
    OVER_SEEDS,
    guard_notes,
    recovery_has_meaning,
)
from orla.reports.numbers import estimate, is_missing, number, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import (
    FEW,
    FEW_UPDATES,
    mark_notes,
    paper_text,
    rate_cell,
    with_paper_rows,
)
from orla.reports.words import NOT_RUN
from orla.study.keys import DEFAULTS, KEYS

_REFIT = "refitted on the adapt part"


_ACCURACIES = ["frozen_accuracy", "reference_accuracy"]
_MEANS = ["frozen_heldout_error", "reference_error", "constant_error", *_ACCURACIES]


class Run(NamedTuple):
    """One condition: its title, and how many pretrained networks were adapted.

    Errors are means over networks in `unit`, accuracies percentages; missing where there are none.
    `steps` is of the adapt part, None where no learner's cadence is known; `updates` are of one
    model, by the learner's name.
    """

    title: str
    networks: int
    unit: str
    frozen_error: float
    reference_error: float
    constant_error: float
    frozen_accuracy: float
    reference_accuracy: float
    steps: int | None
    updates: dict[str, int]

    @property
    def least_updates(self) -> int:
        return min(self.updates.values())


def runs(heldout: pd.DataFrame, study: StudyFacts) -> Iterator[Run]:
    """The conditions of results/heldout (one row a model), in order."""
    for title, _, rows in study.groups(heldout):
        updates = rows.groupby("learner", sort=False)["updates"].max().astype(int).to_dict()
        steps = [n * stride for name, n in updates.items() if (stride := study.stride(name))]
        networks = rows.drop_duplicates("seed")
        means = networks.reindex(columns=_MEANS).mean()
        means[_ACCURACIES] *= 100
        unit = "nats" if networks.reindex(columns=["accuracy"]).notna().any(axis=None) else "MSE"
        updates_by_label = {study.called("learner", name): n for name, n in updates.items()}
        yield Run(title, len(networks), unit, *means, max(steps, default=None), updates_by_label)


def _recovery_text(line: Line) -> str:
    """Recovery and its interval; below, over the best constant where that beats the frozen one."""
    row = line.row
    if not row["run"]:
        return NOT_RUN
    if is_missing(row["recovery_percent"]) and n_diverged(row):
        return "diverged"
    columns = ("recovery_percent", "t95_low_percent", "t95_high_percent")
    text = estimate(*(row[column] for column in columns), n=row["n_seeds"])
    if row["constant_error"] < row["frozen_heldout_error"]:
        text += f"\nover best {number(row['over_best_percent'])}"
    return text if recovery_has_meaning(row) else NO_MEANING


class Heldout(
    Table, name="heldout", label="Held-out recovery", chapter="drift", order=10,
    needs=("conditions", "heldout", "baselines"),
):  # fmt: skip
    """Held-out recovery and R2 of every condition at its selected rate, ours and the paper's."""

    says = f"""Recovery and R² on the held-out part (R²: mean over outputs), each condition at the
    rate that rolling validation within the part adapted to selects. Over best: recovery with the
    best constant in the place of a frozen network that is worse. Brackets: {OVER_SEEDS}; n: seeds,
    and how many of them diverged (div.), which are left out of the mean. Adapt: recovery over the
    adapt part, while learning, at the rate that is best there. {_REFIT.capitalize()} and then
    fixed, as baselines: ridge and recursive least squares (RLS) on the last inputs, a Kalman
    filter, the frozen network's readout; their brackets are over the networks that recovery is
    counted from."""
    cells = (
        part_name("optimizer"),
        rate_cell("learning_rate"),
        seeds_and_diverged(),
        cell("Recovery (%)", _recovery_text, "Held-out"),
        value("R²", "r2_mean", group="Held-out", digits=2),
        value("Recovery (%)", "adapt_recovery_percent", group="Adapt"),
        cell("Held-out", lambda o: paper_text(o.row, "recovery_percent"), "The paper"),
        value("Rate", "paper_learning_rate", rate, "The paper"),
    )
    optional = ("paper", "The paper")

    def rows(self, *results: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The conditions with their networks' errors (means over seeds) and updates; baselines."""
        conditions, heldout, baselines = results
        errors = ("frozen_heldout_error", "reference_error", "constant_error")
        columns = dict.fromkeys(errors, "mean") | {"updates": "max"}
        means = heldout.groupby([*KEYS], as_index=False)[list(columns)].agg(columns)
        rows = conditions.merge(means, how="left", on=[*KEYS])
        if len(baselines):
            more = {"learner": _REFIT, "intervention": DEFAULTS["intervention"]}
            more["optimizer"] = baselines["baseline"].map(BASELINES)
            refits = baselines.drop(columns="baseline").assign(**more)
            rows = pd.concat([rows, refits], ignore_index=True)
        return with_paper_rows(rows, study, load().heldout_recoveries)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, _, group in study.groups(rows, "learner"):
            updates = group["updates"].dropna().astype(int).max()
            few = FEW if updates < FEW_UPDATES else ""
            words = "" if is_missing(updates) else f" ({updates:,} updates{few})"
            yield title + words, group.to_dict("records")

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        notes = mark_notes(contents.panels) + guard_notes([], contents.panels)
        for run in runs(results[1], study):
            steps = f", {run.steps:,} steps adapted to" if run.steps else ""
            notes.append(
                f"{run.title}: held-out error ({run.unit}) {number(run.frozen_error, 2)} frozen, "
                f"{number(run.reference_error, 2)} reference{steps}."
            )
        return notes
