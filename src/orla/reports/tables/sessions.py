"""The sessions of each pair, and how far they drift apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Line, Row, cell
from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.sessions import MOST_TOLD, Drift, drifts, sentences
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table


def _of(line: Line) -> Drift:
    return line.row["drift"]


def _sessions(line: Line) -> str:
    drift = _of(line)
    names = {"a": drift.a, "b": drift.b}
    return "\n".join(f"{n} ({drift.value('seconds', side):.0f} s)" for side, n in names.items())


def _within_a(line: Line) -> str:
    return number(_of(line).value("within_a", _of(line).best), 2)


def _inputs(line: Line) -> str:
    drift = _of(line)
    return f"{number(drift.value('inputs', 'a'), 0)} {drift.words('inputs', 'a')}"


def _within(measure: str) -> Callable[[Line], str]:
    def text(line: Line) -> str:
        drift = _of(line)
        return f"{number(drift.value(measure), 2)}\n({number(drift.value(f'{measure}_within'), 2)})"

    return text


def _decoded(measure: str) -> Callable[[Line], str]:
    return lambda line: _of(line).told(measure, _of(line).best).replace(" [", "\n[")


def _made(line: Line) -> str:
    told = _of(line).told("made") if "made" in _of(line).rows else MISSING
    return told.replace(" [", "\n[")


def _ceiling(line: Line) -> str:
    value = _of(line).value("ceiling")
    return MISSING if is_missing(value) else f"{value:.0f}"


class DriftReport(
    Table,
    name="drift_report",
    label="The sessions and their drift",
    chapter="sessions",
    order=10,
    needs=("drift_report",),
):
    """What each pair of sessions holds, and how far a decoder fitted on A is good for B."""

    says = (
        "Sessions A (to pretrain on) and B (to adapt to) of each pair. A ridge decoder of the last "
        "steps (as many as decode A best) is fitted on A or on B, and scored, fixed, on steps that "
        "the study scores: R², or accuracy of categories. Lost: the score of a decoder fitted on B "
        "less that of A's, on the same steps; brackets: 95 % jackknife interval over stretches of "
        "B. By us: what of the loss comes of components of each session's own. Ceiling: what "
        "the decoder refitted on B recovers. Inputs: median shift of "
        "their means in standard deviations, and correlation of their tuning; in parentheses the "
        "same within A."
    )
    empty = False
    layout: ClassVar = {"widest": 7, "kept": 2}
    cells = (
        cell(
            "Pair",
            lambda line: _of(line).pair or line.study.called("task", _of(line).task),
            align="l",
        ),
        cell("Sessions", _sessions, align="l"),
        cell("Inputs", _inputs),
        cell("Shift (SD)", _within("inputs_moved"), "Inputs"),
        cell("Tuning r", _within("tuning"), "Inputs"),
        cell("Within A", _within_a, "Decoder"),
        cell("Within B", _decoded("within_b"), "Decoder"),
        cell("A to B", _decoded("a_to_b"), "Decoder"),
        cell("Lost", _decoded("loss"), "Decoder"),
        cell("By us", _made, "Decoder"),
        cell("Ceiling\n(%)", _ceiling, "Decoder"),
    )
    optional = ("By us",)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        """One panel of all pairs."""
        if found := [{"drift": drift} for drift in drifts(rows)]:
            yield "", found

    def record(self, row: Row, study: StudyFacts) -> Row:
        """A pair, with every measure as a column; the result has them a row each."""
        drift = row["drift"]
        measures = {
            f"{measure}_{at}".strip("_"): one["value"]
            for measure, places in drift.rows.items()
            for at, one in places.items()
            if measure not in ("session", "recording", "about", "kept", "correspondence")
        }
        return {"task": drift.task, "pair": drift.pair} | measures

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        """A sentence on each pair, or how many drift; what else the sessions' files say."""
        told, lines = list(drifts(needed[0])), sentences(needed[0])
        for drift in told if len(told) <= MOST_TOLD else ():
            for side, name in zip("ab", (drift.a, drift.b), strict=True):
                measures = ("recording", "about", "kept")
                words = [drift.words(measure, side) for measure in measures]
                lines += [f"{name}: {said}" for said in words if said]
            if said := drift.words("correspondence"):
                lines.append(f"{drift.pair}: {said}.")
        return list(dict.fromkeys(lines))
