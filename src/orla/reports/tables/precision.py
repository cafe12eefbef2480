"""Tables of numeric configurations: gaps at rates carried over, at each one's own, and flips."""

from typing import ClassVar

import pandas as pd

from orla.reports.cells import Row, cell, part_name, value
from orla.reports.estimates import OVER_SEEDS
from orla.reports.numbers import count, estimate, rate, span
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Table
from orla.reports.tables.shared import as_nullable
from orla.study.keys import FORMATS

_RANGE = f"Range: smallest to largest gap. Brackets: {OVER_SEEDS}; n: seeds."


def _gap_text(row: Row) -> str:
    if not pd.isna(row["n_seeds"]) and not row["n_seeds"]:
        return "not tried" if row["n_flipped"] else "diverged"
    ends = (row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"])
    return row.get("text") or estimate(*ends, signed=True)


class PrecisionGrid(
    Table, name="precision_grid", label="Gaps by precision, at one precision's rates",
    chapter="precision", order=10, needs=("numerics",), paper="precision_grid",
):  # fmt: skip
    """A panel a condition and optimizer: a line a precision, their range, and the paper's."""

    by, without = ("optimizer",), "precision"

    says = f"""Gap of held-out recovery, {{main}}, by precision: both learners at the rates that
    {{rates_of}} chose. Flips: learners, of the two, for which a precision chooses another rate.
    {_RANGE}"""
    empty = False
    layout: ClassVar = {"size": "scriptsize"}
    cells = (
        value("Precision", "precision", str, align="l"),
        value("full", "learning_rate_full", rate, "Rate"),
        value("immediate", "learning_rate_immediate", rate, "Rate"),
        value("Flips", "n_flipped", count),
        cell("Gap (pp)", lambda line: _gap_text(line.row)),
        value("n", "n_seeds", count),
    )

    def rows(self, numerics: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        return as_nullable(where(numerics, choice="rolling", rates_of=study.rates_of))

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        paper, blank = study.applicable_paper(keys, study.main), dict.fromkeys(rows) | keys
        match_keys = {name: keys[name] for name in ("architecture", "optimizer", "split")}
        lines = rows.to_dict("records")
        for name in FORMATS:
            gaps = rows.loc[rows["precision"].map(study.number_format) == name, "gap_pp"]
            if len(gaps) > 1:
                text = span(gaps, signed=True)
                lines.append(blank | {"precision": f"range, {name}", "text": text})
        for row in paper.table(self.part.more["paper"]) if paper else ():
            if match_keys.items() <= row.items():
                run = paper.document["configurations"][row["configuration"]].split(", ")
                words = ", ".join(word for word in run if "rate" not in word)
                lines.append(blank | {"precision": f"paper: {words}", "gap_pp": row["gap_pp"]})
        return lines


class PrecisionLocalBest(
    PrecisionGrid, name="precision_local_best", label="Gaps by precision, at each one's own rates",
    chapter="precision", order=20, needs=("numerics",), paper="precision_best",
):  # fmt: skip
    """The same at the rates that each precision chooses itself."""

    says = f"""Gap of held-out recovery, {{main}}, by precision: both learners at the rates that
    each precision chose itself. {_RANGE}"""
    cells = tuple(c for c in PrecisionGrid.cells if c.column.header != "Flips")

    def rows(self, numerics: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        rows = as_nullable(where(numerics, choice="rolling"))
        return rows[rows["rates_of"] == rows["precision"]]


class PrecisionFlips(
    Table, name="precision_flips", label="Rates that the precision flips",
    chapter="precision", order=30, needs=("numerics",),
):  # fmt: skip
    """A panel a condition and choice of the rate, a line an optimizer."""

    by, without = ("choice",), "precision"

    says = """Choices of a rate, of every other precision and both learners, that differ from those
    of the precision whose rates are carried over; and by how much (absolute) the gap at own rates
    then differs from that at rates carried over."""
    empty = False
    cells = (
        part_name("optimizer"),
        cell("Flips", lambda line: "{n_flipped} of {n_choices}".format_map(line.row)),
        value("mean", "mean_change_pp", group="Change of the gap (pp)"),
        value("largest", "largest_change_pp", group="Change of the gap (pp)"),
    )

    def rows(self, numerics: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        words = {"rolling": "rates by rolling origins", "tail": "rates by one freezing"}
        return numerics.assign(choice=numerics["choice"].map(words))

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        lines = []
        for name in study.distinct(rows, "optimizer"):
            gaps = where(rows, optimizer=name)
            common = where(gaps, rates_of=study.rates_of).set_index("precision")
            local = gaps[gaps["rates_of"] == gaps["precision"]].set_index("precision")
            flips = common["n_flipped"].drop(study.rates_of, errors="ignore")
            change = (local["gap_pp"] - common["gap_pp"])[flips.index[flips > 0]].abs()
            line = keys | {"optimizer": name, "n_flipped": int(flips.sum())}
            line |= {"n_choices": 2 * len(flips), "mean_change_pp": change.mean()}
            lines.append(line | {"largest_change_pp": change.max()})
        return lines
