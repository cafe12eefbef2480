"""Tables of verdicts and how far to trust them: known answers, power, and every choice."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.reports.cells import Cell, Line, Row, cell, value, with_interval
from orla.reports.comparison import network_kind
from orla.reports.estimates import METRICS, find_square
from orla.reports.numbers import MISSING, count, estimate, is_missing, number
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.verdicts import threshold_text, verdict_lines
from orla.reports.words import PartNames
from orla.study.keys import OVER_PAIRS

# What a choice is called, in the order of the rows of the picture.
CHOICES = {
    "metric": "Metric",
    "comparison": "Cadence",
    "split": "Split",
    "freezing": "Frozen after",
    "pretraining": "Pretrained by",
    "network": "Network",
}
# The header of each verdict's column.
_VERDICTS = {
    "supported": "supp.",
    "falsified": "fals.",
    "inconclusive": "incon.",
    "untestable": "untes.",
}
_FORMER = "By the former rules"
_FORMER_COLUMNS = ["inconclusive", *(f"wrong_{name}" for name in ("share", "low", "high"))]


def _wrong_share_text(line: Line, ending: str = "") -> str:
    """The share of wrong verdicts in percent, over its interval."""
    ends = (f"wrong_{name}{ending}" for name in ("share", "low", "high"))
    return estimate(*(100 * line.row[end] for end in ends)).replace(" ", "\n", 1)


def _claim_text(claim: str) -> str:
    """The region of a claim; a symmetric one as "within ±0.02"."""
    return threshold_text(re.sub(r"strictly between -(\S+) and \1$", r"within ±\1", claim))


class TruthControls(
    Table, name="truth_controls", label="Verdicts in worlds with a known answer", chapter="trust",
    order=10, needs=("truth_controls",),
):  # fmt: skip
    """How many made-up studies of each world and contrast got the right and the wrong verdict."""

    says = f"""Made-up studies with a known true gap, through the same rules to the same judge:
    verdicts, and the share of wrong ones with its 95 % interval over made-up studies. First worlds
    of their own; then each contrast of this study that is over pairs, centred and resampled, with a
    gap of zero, one or two margins planted. On the margin every decision is wrong. {_FORMER}: by
    recovery at a rate chosen by one freezing."""
    layout: ClassVar = {"fixed_columns": 3, "widest": 8}
    cells = (
        value("World or contrast", "words", str, align=r"p{0.26\linewidth}"),
        value("True gap", "true_gap", partial(number, digits=2, signed=True)),
        value("Claim", "claim", _claim_text, align="l"),
        value("n", "studies", count),
        *(value(header, name, count, "Verdict") for name, header in _VERDICTS.items()),
        cell("Wrong (%)", _wrong_share_text),
        cell("Wrong (%)", lambda line: _wrong_share_text(line, "_former"), _FORMER),
        value("incon.", "inconclusive_former", count, _FORMER),
    )
    optional = (_FORMER,)
    remarks = "supp., fals., incon., untes.: supported, falsified, inconclusive, untestable."

    def rows(self, truth_controls: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """A row a world, or contrast and planted gap: by the rules as they are, and the former."""
        by = [*OVER_PAIRS, "comparison", "world", "margins"]
        former = where(truth_controls, rules="former")[[*by, *_FORMER_COLUMNS]]
        present = where(truth_controls, rules="present")
        return present.merge(former, how="left", on=by, suffixes=("", "_former"))

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        world_rows = rows[rows["world"] != ""]
        yield "Worlds of their own", world_rows.assign(words=world_rows["means"]).to_dict("records")
        for title, _, group in study.groups(rows[rows["world"] == ""], "optimizer"):
            words = [study.called("comparison", name) for name in group["comparison"]]
            yield f"Scatter of {title}", group.assign(words=words).to_dict("records")


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
            yield f"{name}: {size_and_sd_text(lines[0])}", lines


def size_and_sd_text(row: Row) -> str:
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
            lambda line: line.row["title"] + " †" * line.row["amended"],
            align=r"p{0.212\linewidth}",
        ),
        value("Verdict", "words", str, align=r"p{0.145\linewidth}"),
        value(_FORMER, "former", str),
        value("Estimate", "estimate", str, align=r"p{0.21\linewidth}"),
        value("Threshold", "threshold", str, align=r"p{0.115\linewidth}"),
        value("n", "n", str),
        cell("The paper", lambda o: o.row["paper"] or MISSING, align=r"p{0.165\linewidth}"),
    )
    optional = (_FORMER,)

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        simulated = """ A verdict on simulated sessions shows that the study works, not what the
        brain does."""
        return f"""Every registration and its verdict. Brackets: the interval that the registration
        names; n: seeds of one pair, or what stands beside it.{simulated * study.simulated}"""

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        yield "", verdict_lines(rows, study)

    def csv_row(self, row: Row, study: StudyFacts) -> Row:
        return row["record"]

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        lines = verdict_lines(contents.rows, study)
        notes = [
            f"{line['title']}: {line['reason']}"
            for line in lines
            if line["outcome"] != "supported" and line["reason"]
        ]
        if titles := [line["title"] for line in lines if line.get("history", "git") != "git"]:
            notes.append(f"The day of the lock is not shown by git: {'; '.join(titles)}.")
        return notes + ["† amended after it was registered."] * any(x["amended"] for x in lines)


def specifications(multiverse: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """Each specification of one pair, its choices in words, sorted by the gap.

    The pair is the one with most known gaps of recovery, then with most specifications. Differences
    of R2 and of the error are in hundredths, the latter reversed, so that positive says the same in
    every row. Of comparisons those of the gradient remain, with that of gradient and cadence.
    Column "on": the words " on TASK", where those of other tasks or pairs are left out; else "".
    """
    if multiverse.empty:
        return multiverse.assign(**dict.fromkeys((*CHOICES, "on"), ""))
    square, gradients = find_square(study), [study.main]
    if square is not None:
        gradients = [square.per_step, square.per_window, square.diagonal(study)]
    rows = multiverse[multiverse["comparison"].isin(gradients)]
    rows = rows if len(rows) else multiverse
    recovery = rows.assign(gap=rows["gap"].where(~rows["metric"].isin(("r2", "error"))))
    sizes = recovery.groupby(["task", "pair"], sort=False)["gap"].agg(["count", "size"])
    task, pair = sizes.sort_values(["count", "size"], ascending=False, kind="stable").index[0]
    rows = where(rows, task=task, pair=pair).copy()
    streams = multiverse[["task", "pair"]].drop_duplicates()
    names = [study.called(kind, name) for kind, name in (("task", task), ("pair", pair)) if name]
    numbers, in_hundredths = ["gap", "low", "high"], rows["metric"].isin(("r2", "error"))
    rows[numbers] = rows[numbers].mul(np.where(in_hundredths, 100.0, 1.0), axis=0)
    rows[["low", "high"]] = np.sort(rows[["low", "high"]], axis=1)
    kinds = rows["architecture"].map(lambda name: network_kind(study, name))
    windows = rows["architecture"].map(lambda name: study.pretraining.get(name))
    choices = {
        "metric": rows["metric"].map(lambda name: METRICS.get(name, name)),
        "comparison": rows["comparison"].map(lambda name: _cadence_words(name, study)),
        "split": rows["split"].map(lambda name: study.called("split", name)),
        "freezing": rows["freezing_step"].map(
            lambda step: "all steps" if pd.isna(step) else f"{step:,.0f} steps"
        ),
        "pretraining": windows.map(lambda n: "" if pd.isna(n) else f"window of {n:.0f}"),
        "network": kinds.map(lambda kind: PartNames().called("architecture", kind)),
        "on": f" on {', '.join(names)}" if len(streams) > 1 else "",
    }
    return rows.assign(**choices).sort_values(["optimizer", "gap"], kind="stable")


def varying_choices(rows: pd.DataFrame) -> dict[str, list[str]]:
    """The choices that differ between specifications, each with its values in order."""

    def sort_key(value: str) -> tuple:  # by the numbers in it; those without come last
        return [int(n) for n in re.findall(r"\d+", value)] or [10**9], value

    values = {name: rows[name].unique() for name in CHOICES}
    return {name: sorted(v, key=sort_key) for name, v in values.items() if len(v) > 1}


def _cadence_words(comparison: str, study: StudyFacts) -> str:
    """How many steps lie between two updates of the learners of a comparison, in words."""
    sides = study.comparison(comparison)
    full, immediate = map(study.stride, (sides.minuend, sides.subtrahend))
    if full != immediate:
        return f"full per {full}, immediate per {immediate}"
    return "both per step" if full == 1 else f"both per {full} steps"


class Multiverse(
    Table, name="multiverse", label="The gap under every choice", chapter="choices", order=10,
    needs=("multiverse",),
):  # fmt: skip
    """The gap under each specification, from the least to the greatest, by optimizer."""

    layout: ClassVar = {"size": "scriptsize"}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        on = "".join(specifications(rows, study)["on"].head(1))
        return f"""The gap of full minus immediate{on} under each choice, from the least to the
        greatest: recovery in pp, R² and error (sign reversed) in hundredths. Brackets:
        95 % t interval over seeds of one pair."""

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        rows = specifications(rows, study)
        choices = [name for name in list(CHOICES)[1:] if rows[name].astype(bool).any()]
        gap = with_interval("Gap", "gap", "low", "high", signed=True)
        return [*(value(CHOICES[name], name, str, align="l") for name in choices), gap]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        rows = specifications(rows, study)
        for optimizer in study.distinct(rows, "optimizer"):
            for metric in METRICS.values():
                title = f"{study.called('optimizer', optimizer)}: {metric}"
                yield title, where(rows, optimizer=optimizer, metric=metric).to_dict("records")

    def csv_table(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        rows = contents.rows.to_dict("records")
        return super().csv_table(contents._replace(records=rows), study)
