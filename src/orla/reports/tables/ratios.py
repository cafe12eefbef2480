"""Update ratios: by optimizer beside the gap, and with the past gradient's structure by cadence."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from orla.reports.beside import BesidePaper, pairs_as_seeds, papers_first
from orla.reports.cells import Cell, Line, Row, cell, part_name, value, with_interval
from orla.reports.comparison import Beside, Mean, mean_of, mean_text, same_network, seeds_text
from orla.reports.estimates import find_square
from orla.reports.numbers import MISSING, count, estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.table import Column
from orla.reports.tables import shared
from orla.reports.tables.base import Contents, Table
from orla.study.keys import DEFAULTS, KEYS

_RATIOS = "‖ΔW_hh‖/‖ΔW_out‖"
_RATIO_ENDS = ("update_ratio_t95_low", "update_ratio_t95_high")
_ONE_ORDER = "; the paper's four are in one order"
_TABLE_3 = "The paper's ratios, and its gaps at 80/20 beside float64, are those of its Table 3."


def _papers_gap_text(line: Line) -> str:
    """The paper's gap, with a digit where it prints no ratio."""
    digits = int(is_missing(line.row["paper_update_ratio"]))
    return shared.paper_text(line.row, "gap_pp", digits, signed=True)


class RatioGap(
    Table, name="ratio_gap", label="Update-magnitude ratio and gap", chapter="ratio", order=10,
    needs=("ratio_gap", "ratio_gap_order"),
):  # fmt: skip
    """Update-magnitude ratio and gap by optimizer, ours and the paper's."""

    cells = (
        part_name("optimizer"),
        with_interval("ours", "update_ratio", *_RATIO_ENDS, group=_RATIOS, digits=2),
        value("paper", "paper_update_ratio", group=_RATIOS, digits=2),
        with_interval("ours", "gap_pp", "t95_low_pp", "t95_high_pp", group="Gap (pp)", signed=True),
        cell("paper", _papers_gap_text, "Gap (pp)"),
        value("n", "n_seeds", count),
    )
    optional = ("paper", "The paper")
    says = f"""Mean over updates of {_RATIOS} under the comparison's first learner, and the
    held-out recovery gap of {{main}}, weights frozen once, each at its selected rate. Brackets:
    {shared.T_INTERVAL}; n: seeds."""

    def rows(self, ratios: pd.DataFrame, order: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Beside the paper's table of ratios, and its other gaps elsewhere."""
        key_columns = ["optimizer", "architecture", "precision", "split"]
        columns = ["update_ratio", "gap_pp", "configuration", "place", "text"]
        table = pd.DataFrame(load().table("ratio_gap")).rename(columns={"gap_text": "text"})
        table = table[[*key_columns, *columns]].rename(columns={n: f"paper_{n}" for n in columns})
        papers = pd.concat([table, load().gaps]).drop_duplicates(key_columns)
        return shared.with_paper_rows(ratios, study, papers, study.main)

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        notes = []
        for row in results[1].to_dict("records"):
            rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
            note = _ONE_ORDER if study.applicable_paper(row, study.main) else ""
            notes.append(
                f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
                f"{study.condition_title(row, results[1])}: {rank} (95 % bootstrap interval over "
                f"{count(row['n_seeds'])} seeds of one pair{note})."
            )
        if any(not is_missing(row["paper_update_ratio"]) for row in contents.records):
            notes.append(_TABLE_3)
        return notes + shared.mark_notes(contents.panels)


# Measure -> the column's head, digits, and what it is multiplied by.
_MEASURES = {
    "top1_past": ("top1", 2, 1.0),
    "energy1_past": ("energy", 2, 1.0),
    "whh_share": ("W_hh (%)", 1, 100.0),
    "update_ratio": ("‖ΔW_hh‖/‖ΔW_out‖", 2, 1.0),
}
_NULLS = {
    "counts": "Null of the ratio by counts: the root of the numbers of W_hh over those of W_out, "
    "of the paper's network on its task. An optimizer that moves every number about alike "
    "(Adam, Adafactor, the sign methods) has it whatever the gradient.",
    "norms": "Null of the ratio by norms: ‖W_hh‖/‖W_out‖, which LARS has.",
}


def _cadences_and_difference_column(measure: str, header: str, digits: int) -> Cell:
    """Both cadences' means, over the mean of their difference by network."""

    def text(line: Line) -> str:
        if not line.row[measure]:
            return MISSING
        *sides, apart = (one.ours or Mean(np.nan) for one in line.row[measure])
        means = " / ".join(number(one.value, digits) for one in sides)
        return means + (f"\n{mean_text(apart, digits, True)}" if apart.n else "")

    return Cell(Column(header, "r"), text, lambda line: line.row[measure])


class CadenceStructure(
    BesidePaper, name="cadence", label="Structure and update ratio at two cadences",
    chapter="mechanism", order=30, needs=("heldout",),
):  # fmt: skip
    """The same gradient per step and once a window: whether structure and ratio differ."""

    cells = (
        part_name("optimizer"),
        value("Gradient", "gradient", str, align="l"),
        cell("n", lambda line: seeds_text(line.row["seeds"])),
        *(
            _cadences_and_difference_column(measure, header, digits)
            for measure, (header, digits, _) in _MEASURES.items()
        ),
        *(value(name, name, str, "Null of ratio") for name in _NULLS),
    )
    optional = ("norms",)

    def learners_by_gradient(self, study: StudyFacts) -> dict[str, tuple[str, str]]:
        """Each gradient's learners, per step and per window; {} where none are compared."""
        if (square := find_square(study)) is None:
            return {}
        step, window, full_step, full_window = square.learners(study)
        return {"g_imm": (step, window), "g_full": (full_step, full_window)}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        which = "; ".join(
            f"{name}: {study.called('learner', step)}, and {study.called('learner', window)}"
            for name, (step, window) in self.learners_by_gradient(study).items()
        )
        return f"""Each gradient per step and once a window ({which or "not compared"}). top1,
        energy: of G_past; W_hh: share of its first direction there. First lines: mean over seeds
        per step / per window. Second lines: per window minus per step, paired by network, ± half of
        its 95 % t interval."""

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, keys, group in papers_first(study, pairs_as_seeds(where(rows, **DEFAULTS))):
            lines = []
            gradients = self.learners_by_gradient(study).items()
            optimizers = study.distinct(group, "optimizer")
            for optimizer, (gradient, learners) in product(optimizers, gradients):
                sides = [where(group, optimizer=optimizer, learner=name) for name in learners]
                if line := _both_cadences_line(sides):
                    line |= {"optimizer": optimizer, "gradient": gradient}
                    lines.append(line | {"counts": _null_ratio_text(study, keys)})
            if lines:
                yield title, lines

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        rows = [row for panel in contents.panels for row in panel.rows]
        places = zip(_NULLS.values(), (-2, -1), strict=True)
        notes = [note for note, i in places if any(row[i] != MISSING for row in rows)]
        return notes + self.over_pairs_notes(contents.records)

    def is_shown(self, contents: Contents, study: StudyFacts) -> bool:
        return bool(contents.panels)


def _values_by_seed(rows: pd.DataFrame, column: str, scale: float = 1.0) -> pd.Series:
    """The finite values of a column times `scale`, by seed."""
    values = pd.Series(rows.get(column, np.nan), rows.index, dtype=float).set_axis(rows["seed"])
    return values[np.isfinite(values)] * scale


def _both_cadences_line(sides: list[pd.DataFrame]) -> dict[str, Any]:
    """A line of both cadences; {} where nothing was measured at both."""
    line: dict[str, Any] = dict.fromkeys(_MEASURES, ())
    losses, has_both = [int(side["diverged"].sum()) for side in sides], False
    for column, (_, _, scale) in _MEASURES.items():
        values = [_values_by_seed(side, column, scale) for side in sides]
        has_both |= all(map(len, values))
        if any(map(len, values)) and all(map(len, sides)):
            keys = [dict(side[list(KEYS)].iloc[0]) for side in sides]
            means = [mean if mean.n else None for mean in map(mean_of, values, losses)]
            apart = mean_of((values[1] - values[0]).dropna())
            line[column] = [Beside(k, column, mean) for k, mean in zip(keys, means, strict=True)]
            line[column].append(Beside(keys[1], f"{column}_window_minus_step", apart))
    n = len(np.intersect1d(*(side["seed"] for side in sides)))
    norms = mean_text(mean_of(_values_by_seed(sides[0], "weight_ratio")), 2)
    line |= {"seeds": Mean(0.0, n=n, diverged=sum(losses)), "norms": norms}
    return line if has_both else {}


def _null_ratio_text(study: StudyFacts, keys: Row) -> str:
    """The null ratio √(|W_hh|/|W_out|), by counts of numbers, of the paper's network alone."""
    row = load().table("structure")[0]
    if study.applicable_paper(keys) is None or not same_network(study, keys["architecture"], row):
        return MISSING
    sizes = {name: n for row in load().rows_in_text() for name, n in row.items()}
    return number(np.sqrt(sizes["parameters_whh"] / sizes["parameters_wout"]), 2)
