"""Tables of verdicts and how far to trust them: known answers, power, and every choice."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Cell, Line, Row, cell, ends, value
from orla.reports.estimates import METRICS
from orla.reports.multiverse import CHOICES, specifications, task_suffix
from orla.reports.numbers import MISSING, count, estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import PANEL, Contents, Table
from orla.reports.tables.shared import is_true
from orla.reports.verdicts import estimate_text, n_text, outcome_words, threshold_text, with_reasons

_VERDICTS = ("supported", "falsified", "inconclusive", "untestable")


def _wrong_share_text(line: Line) -> str:
    """The share of wrong verdicts in percent, over its interval."""
    share = (100 * line.row[f"wrong_{name}"] for name in ("share", "low", "high"))
    return estimate(*share).replace(" ", "\n", 1)


class TruthControls(
    Table, name="truth_controls", label="Verdicts in worlds with a known answer", chapter="trust",
    order=10, needs=("truth_controls",),
):  # fmt: skip
    """How many made-up studies of each world got the right, the wrong and no verdict."""

    says = """Made-up studies with a known true gap, through the same rules to the same judge: their
    verdicts, and how many of these are right, wrong and undecided. Brackets: 95 % interval of the
    wrong share over made-up studies."""
    layout: ClassVar = {"kept": 3, "widest": 8}
    cells = (
        value("World", "world", str, align=r"p{0.16\linewidth}"),
        value("True gap", "true_gap", "{:+.3g}".format),
        value("Claim", "claim", str, align=r"p{0.13\linewidth}"),
        value("n", "studies", count),
        *(value(name[:5] + ".", name, count, "Verdict") for name in _VERDICTS),
        *(value(name, name, count, "Answer") for name in ("right", "wrong", "undecided")),
        cell("Wrong (%)", _wrong_share_text),
    )
    remarks = "supp., fals., incon., untes.: supported, falsified, inconclusive, untestable."

    def rows(self, truth_controls: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        return truth_controls.assign(**{PANEL: ""})


class Power(
    Table, name="power", label="Power of each registration", chapter="trust", order=20,
    needs=("power",),
):  # fmt: skip
    """Power against the true gap at the scatter that was seen, and what 80 % would take."""

    says = """Probability that a registration's claim is supported, if the true gap were the one
    given, at the scatter seen and the registered number of pairs or seeds; and the number that 80 %
    would take."""
    cells = (
        value("True gap", "true_gap", "{:+.3g}".format),
        cell("Power (%)", lambda line: number(100 * line.row["supported"], 0)),
        value("n for 80 %", "n_80", count),
    )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for name, group in rows.groupby("registration", sort=False):
            lines = group.sort_values("true_gap").to_dict("records")
            yield f"{name}: {sample_text(lines[0])}", lines


def sample_text(row: Row) -> str:
    """The registered sample and the scatter: "12 pairs, sd 6.2 pp"."""
    unit = "" if is_missing(row["unit"]) else f" {row['unit']}s"
    sd = number(row["sd"], 3 if row["sd"] < 1 else 1)
    return f"{count(row['n'])}{unit}, sd {sd} {row['scale']}"


class Verdict(
    Table, name="verdict", label="Verdicts", chapter="verdicts", order=10, needs=("verdicts",)
):
    """Every registration's verdict, with the paper's figure for the claim it tests."""

    cells = (
        cell(
            "Registration",
            lambda o: o.row["title"] + " †" * is_true(o.row, "amended"),
            align=r"p{0.212\linewidth}",
        ),
        cell("Verdict", lambda o: outcome_words(o.row, o.study), align=r"p{0.145\linewidth}"),
        cell("Estimate", lambda o: estimate_text(o.row), align=r"p{0.21\linewidth}"),
        value("Threshold", "threshold", threshold_text, align=r"p{0.115\linewidth}"),
        cell("n", lambda line: n_text(line.row)),
        cell("The paper", lambda o: o.row["paper"] or MISSING, align=r"p{0.165\linewidth}"),
    )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        if "former" not in rows or not rows["former"].fillna("").any():
            return self.cells
        former = cell("By the former rules", lambda line: line.row["former"] or MISSING)
        return [*self.cells[:2], former, *self.cells[2:]]

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        simulated = """ A verdict on simulated sessions shows that the study works, not what the
        brain does."""
        return f"""Every registration and its verdict. Brackets: the interval that the registration
        names; n: seeds of one pair, or what stands beside it.{simulated * study.simulated}"""

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        lines = []
        for row, _ in with_reasons(rows, study):
            claim = load().claim_tested_by(row["registration"])
            lines.append(row | {"paper": claim.get("paper"), "paper_place": claim.get("place")})
        yield "", lines

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        amended = any(is_true(row, "amended") for row in contents.records)
        reasons = [
            f"{row['title']}: {why}"
            for row, why in with_reasons(contents.rows, study)
            if row["outcome"] != "supported" and why
        ]
        return reasons + ["† amended after it was registered."] * amended


class Multiverse(
    Table, name="multiverse", label="The gap under every choice", chapter="choices", order=10,
    needs=("multiverse",),
):  # fmt: skip
    """The gap under each specification, from the least to the greatest, by optimizer."""

    layout: ClassVar = {"size": "scriptsize"}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"""The gap of full minus
        immediate{task_suffix(specifications(rows, study), rows, study)} under each choice, from the
        least to the greatest: recovery in pp, R² and MSE (sign reversed) in hundredths. Brackets:
        95 % t interval over seeds of one pair."""

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        rows = specifications(rows, study)
        choices = [name for name in list(CHOICES)[1:] if rows[name].astype(bool).any()]
        gap = ends("Gap", "gap", "low", "high", signed=True)
        return [*(value(CHOICES[name], name, str, align="l") for name in choices), gap]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        rows = specifications(rows, study)
        for optimizer in study.distinct(rows, "optimizer"):
            for metric in METRICS.values():
                group = where(rows, optimizer=optimizer, metric=metric)
                if len(group):
                    title = f"{study.called('optimizer', optimizer)}: {metric}"
                    yield title, group.to_dict("records")

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        """The .csv twin: the rows of the result, every pair and optimizer."""
        rows = contents.rows.to_dict("records")
        return super().data(contents._replace(records=rows), study)
