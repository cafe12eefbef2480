"""The drift of each pair of sessions: what they hold, and what a decoder loses."""

from collections.abc import Callable, Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Cell, Row, cell, value
from orla.reports.numbers import number
from orla.reports.sessions import MOST_TOLD, Drift, drift_sentences, drifts
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table


def _column(header: str, text: Callable[[Drift], str], group: str = "", align: str = "r") -> Cell:
    """A column of what the drift report says of a pair."""
    return cell(header, lambda line: text(line.row["drift"]), group, align)


def _within_column(header: str, measure: str) -> Cell:
    """A measure between the sessions over the same within A."""
    places = (measure, f"{measure}_within")
    return _column(
        header, lambda d: "{}\n({})".format(*(number(d.value(p), 2) for p in places)), "Inputs"
    )


def _score_column(header: str, measure: str) -> Cell:
    """A score with its interval, at the lags that decode A best; one without lags by itself."""

    def text(drift: Drift) -> str:
        at = drift.best_lags if drift.best_lags in drift.rows.get(measure, {}) else ""
        return drift.text(measure, at).replace(" [", "\n[")

    return _column(header, text, "Decoder")


def _sessions_text(drift: Drift) -> str:
    """Both sessions with their seconds, a line each."""
    sides = zip("ab", (drift.a, drift.b), strict=True)
    return "\n".join(f"{name} ({drift.value('seconds', side):.0f} s)" for side, name in sides)


class DriftReport(
    Table, name="drift_report", label="The sessions and their drift", chapter="sessions", order=10,
    needs=("drift_report",),
):  # fmt: skip
    """What each pair of sessions holds, and how far a decoder fitted on A is good for B."""

    says = """Sessions A (to pretrain on) and B (to adapt to) of each pair. A ridge decoder of the
    last steps (as many as decode A best) is fitted on A or on B, and scored, fixed, on steps that
    the study scores: R², or accuracy of categories. Lost: the score of a decoder fitted on B less
    that of A's, on the same steps, of B's longest adapt part; brackets: 95 % jackknife interval
    over stretches of B. By us: what of the loss comes of components of each session's own.
    Ceiling: what the decoder refitted on B recovers of its own loss. Inputs: median shift of their
    means in standard deviations, and correlation of their tuning; in parentheses the same within
    A."""
    empty = False
    layout: ClassVar = {"widest": 7, "kept": 2}
    cells = (
        value("Pair", "name", str, align="l"),
        _column("Sessions", _sessions_text, align="l"),
        _column(
            "Inputs", lambda d: f"{number(d.value('inputs', 'a'), 0)} {d.words('inputs', 'a')}"
        ),
        _within_column("Shift (SD)", "inputs_moved"),
        _within_column("Tuning r", "tuning"),
        _column("Within A", lambda d: number(d.value("within_a", d.best_lags), 2), "Decoder"),
        _score_column("Within B", "within_b"),
        _score_column("A to B", "a_to_b"),
        _score_column("Lost", "loss"),
        _score_column("By us", "made"),
        _column("Ceiling\n(%)", lambda d: number(d.value("ceiling"), 0), "Decoder"),
    )
    optional = ("By us",)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        pairs = ((drift, drift.pair or study.called("task", drift.task)) for drift in drifts(rows))
        yield "", [{"drift": drift, "name": name} for drift, name in pairs]

    def csv_row(self, row: Row, study: StudyFacts) -> Row:
        """A pair, with every measure and its ends as columns; the result has them a row each."""
        drift, columns = row["drift"], {"task": row["drift"].task, "pair": row["drift"].pair}
        for measure, places in drift.rows.items():
            for at, entry in places.items():
                name = f"{measure}_{at}".strip("_")
                if measure in ("session", "recording", "about", "kept", "correspondence"):
                    columns[name] = entry["words"]
                else:
                    columns[name] = entry["value"]
                    ends = {f"{name}_{end}": entry[end] for end in ("low", "high")}
                    columns |= {end: number for end, number in ends.items() if number == number}
        return columns

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        """A sentence on each pair, or how many drift; what else the sessions' files say."""
        pairs, lines = list(drifts(needed[0])), drift_sentences(needed[0])
        for drift in pairs if len(pairs) <= MOST_TOLD else ():
            for side, name in zip("ab", (drift.a, drift.b), strict=True):
                words = (drift.words(measure, side) for measure in ("recording", "about", "kept"))
                lines += [f"{name}: {text}" for text in words if text]
            if text := drift.words("correspondence"):
                lines.append(f"{drift.pair}: {text}.")
        return list(dict.fromkeys(lines))
