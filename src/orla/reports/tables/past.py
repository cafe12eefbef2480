"""Tables of the past gradient, a line a condition: structure, and the gap by network."""

from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import pandas as pd

from orla.reports.beside import (
    CELLS,
    EPISODE,
    ByCondition,
    conditions_with_measures,
    drifting_rows,
    pool_pairs,
)
from orla.reports.cells import (
    Cell,
    Line,
    Row,
    cell,
    mean_beside,
    network_name,
    part_name,
    seed_count,
    value,
)
from orla.reports.cells import beside as pair_cell
from orla.reports.comparison import RECOVERY, Beside, Mean, means_by_keys, network_kind, paper_value
from orla.reports.numbers import count
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.study.keys import DEFAULTS, KEYS

_TOP1 = "top1_past"
# Shares of the first singular value, and readings of the windows' gradients: what begins and ends
# their measures, and our words.
_SHARES = {"top1": "top1", "energy1": "energy"}
_READINGS = {"": "", "_cumulative": ", sums", "_last": ", last"}
_SHARE = {"group": "Share on W_hh (%)", "digits": 1, "scale": 100.0}
_SINGULAR, _RECOVERY = "First singular value", "Held-out recovery (%)"


def _first_line_column(header: str, *measure: str, **how: Any) -> Cell:
    """A mean that has one reading alone, in the condition's first line."""
    column = mean_beside(header, *measure, **how)
    return column._replace(
        text=lambda line: column.text(line) if line.row["first"] else "",
        numbers=lambda line: column.numbers(line) if line.row["first"] else (),
    )


class _ByReading(ByCondition):
    """A condition has a line for each share and reading of its gradients that was measured."""

    tells_pretraining = True
    concentration: ClassVar[tuple[Cell, ...]] = (
        part_name("optimizer"),
        seed_count(_TOP1),
        value("Share", "words", str, align="l"),
        mean_beside("G_past", "{share}_past{reading}", _TOP1, group=_SINGULAR),
        mean_beside("G_imm", "{share}_immediate{reading}", "top1_immediate", group=_SINGULAR),
        mean_beside(
            "gap", "{share}_gap{reading}", "top1_gap", group=_SINGULAR, digits=3, signed=True
        ),
    )
    readings: ClassVar[str] = """top1: largest singular value over the sum of all; energy: its
    square over the sum of squares. The paper's number stands beside both. Sums: each column is the
    sum of the windows so far. Last: gradients of each window's last loss alone."""

    def past_gradient_conditions(self, measured: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The conditions of the paper's full learner with a structure, and each network's kind."""
        rows = conditions_with_measures(pool_pairs(measured), _TOP1)
        rows = where(rows, learner=load().past_gradient_learner)
        return rows.assign(kind=[network_kind(study, name) for name in rows["architecture"]])

    def lines(self, rows: list[Row]) -> list[Row]:
        return [
            {**row, "share": share, "reading": reading, "first": not place}
            | {"words": _SHARES[share] + _READINGS[reading]}
            for row in rows
            for place, (reading, share) in enumerate(product(_READINGS, _SHARES))
            if not place or f"{share}_past{reading}" in row["means"]
        ]


class Structure(
    _ByReading, name="structure", label="Structure of the past gradient", chapter="mechanism",
    order=20, needs=("measured",), paper="structure",
):  # fmt: skip
    """Concentration of G_past and G_imm in networks of the kind that the paper measures here."""

    cells = (
        *_ByReading.concentration,
        _first_line_column("u_1", "whh_share", "whh_share_percent", **_SHARE),
        _first_line_column("shuffled", "whh_share_shuffled", **_SHARE),
    )
    remarks = """g_past is exactly zero on the readout, because every learner's gradient of the
    readout is exact: the share of u_1 on W_out is 0 by construction.

    Row i of the gradient is a sum over steps of dL/da_i (x, h, 1): sizes of x and h fix about how
    much of it lies on W_hh, whatever the errors. Shuffled is that null: the share where dL/dh_t is
    shuffled in time within each window."""

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        null = load().rows_in_text("parameters_whh")[0]
        full = study.called("learner", load().past_gradient_learner)
        return f"""Past and immediate gradients of {full}, a column a window: G_past, G_imm.
        {self.readings} Share on W_hh: squared norm there of u_1, the first left singular vector of
        G_past; shuffled: its null (the paper's, the share of W_hh in all numbers,
        {null["whh_share_percent"]:g} %, is a count). {CELLS}"""

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        rows = super().papers_rows
        more = {"learner": load().past_gradient_learner, "split": "shift"}
        return rows + [row | more for row in load().rows_in_text(_TOP1, "whh_share_percent")]

    def conditions(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        rows = self.past_gradient_conditions(measured, study)
        return rows[rows["kind"].isin([row["architecture"] for row in self.papers_rows])]


class LSTMCrossArchitecture(
    _ByReading, name="lstm_cross_architecture",
    label="Structure of the past gradient in other networks", chapter="mechanism", order=70,
    needs=("measured",), paper="lstm_structure",
):  # fmt: skip
    """Concentration of G_past and recovery of gated and linear networks under drift."""

    cells = (
        *_ByReading.concentration,
        _first_line_column(_RECOVERY, RECOVERY, "recovery_percent", digits=1, ending="_percent"),
    )
    says = f"""As the table of the vanilla network, under {{full}} and drift. {_ByReading.readings}
    {CELLS}"""

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        rows = super().papers_rows
        more = {"learner": load().past_gradient_learner, "split": rows[0]["split"]}
        return rows + [row | more for row in load().rows_in_text(_TOP1, "recovery_percent")]

    def conditions(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        rows = drifting_rows(self.past_gradient_conditions(measured, study))
        return rows[rows["kind"] != load().table("structure")[0]["architecture"]]


# The paper's columns of both learners, with past and without.
_LEARNERS = ("learner_full", "learner_immediate")


def _recovery_column(header: str, side: str) -> Cell:
    def both_numbers(line: Line) -> Beside:
        keys = {**line.row, "learner": load().table("capacity")[0][side]}
        paper = paper_value(line.paper, f"{side.replace('learner', 'recovery')}_percent")
        return Beside(keys, RECOVERY, line.mean(side), paper)

    return pair_cell(header, both_numbers, _RECOVERY, digits=1)


class Capacity(
    ByCondition, name="capacity", label="Gap by network and its size", chapter="mechanism",
    order=80, needs=("gaps", "measured"), paper="capacity",
):  # fmt: skip
    """Recoveries and the gap of the paper's two learners with its optimizer, a line a network."""

    panel_by = EPISODE
    cells = (
        network_name(),
        cell("h→h, paper", lambda line: count((line.paper or {}).get("recurrent_parameters"))),
        seed_count("gap_pp"),
        _recovery_column("with past", _LEARNERS[0]),
        _recovery_column("without past", _LEARNERS[1]),
        mean_beside("Gap (pp)", "gap_pp", digits=1, signed=True, ending="_pp"),
    )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        first = self.papers_rows[0]
        names = [study.called("learner", first[side]) for side in _LEARNERS]
        return f"""{study.called("optimizer", first["optimizer"])}: held-out recovery under
        {names[0]} (with past) and {names[1]} (without), and their difference, paired by network.
        h→h: numbers from state to state. {CELLS}"""

    def conditions(
        self, gaps: pd.DataFrame, measured: pd.DataFrame, *, study: StudyFacts
    ) -> pd.DataFrame:
        """The gaps of the paper's two learners with its optimizer, a row a condition."""
        first = self.papers_rows[0]
        keys = {name: first[name] for name in (*_LEARNERS, "optimizer")}
        rows = where(gaps, **DEFAULTS, **keys).assign(learner="")
        # Several comparisons may be of the same two learners.
        rows = rows.drop_duplicates(list(KEYS))
        columns = ["gap_pp", "t95_low_pp", "t95_high_pp", "n_seeds", "n_diverged"]
        means = [{"gap_pp": Mean(*row)} for row in rows[columns].itertuples(index=False)]
        return rows[list(KEYS)].assign(means=means)

    def rows(self, *results: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The conditions, with the recoveries of both learners among their means."""
        rows = super().rows(*results, study=study)
        means_by_key = means_by_keys(results[-1])
        for row in rows.to_dict("records"):
            for side in _LEARNERS:
                keys = tuple({**row, "learner": self.papers_rows[0][side]}[name] for name in KEYS)
                row["means"][side] = means_by_key.get(keys, {}).get(RECOVERY)
        return rows
