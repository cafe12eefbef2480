"""The drift of each pair of sessions, and adaptation to it beside the paper: recoveries, ratios."""

from collections.abc import Callable, Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Cell, Line, Row, called, cell, counted, ends, n_diverged, value
from orla.reports.estimates import BASELINES, NO_MEANING, OVER_SEEDS, guard_notes, has_meaning
from orla.reports.numbers import count, estimate, is_missing, number, rate
from orla.reports.paper import load
from orla.reports.recoveries import runs
from orla.reports.sessions import MOST_TOLD, Drift, drift_sentences, drifts
from orla.reports.study import StudyFacts
from orla.reports.tables import shared
from orla.reports.tables.base import Contents, Table
from orla.reports.words import NOT_RUN
from orla.study.keys import DEFAULTS, KEYS


def _column(header: str, text: Callable[[Drift], str], group: str = "", align: str = "r") -> Cell:
    """A column of what the drift report says of a pair."""
    return cell(header, lambda line: text(line.row["drift"]), group, align)


def _within_column(header: str, measure: str) -> Cell:
    """A measure between the sessions over the same within A."""
    places = (measure, f"{measure}_within_column")
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
    that of A's, on the same steps; brackets: 95 % jackknife interval over stretches of B. By us:
    what of the loss comes of components of each session's own. Ceiling: what the decoder refitted
    on B recovers. Inputs: median shift of their means in standard deviations, and correlation of
    their tuning; in parentheses the same within A."""
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
        told, lines = list(drifts(needed[0])), drift_sentences(needed[0])
        for drift in told if len(told) <= MOST_TOLD else ():
            for side, name in zip("ab", (drift.a, drift.b), strict=True):
                words = (drift.words(measure, side) for measure in ("recording", "about", "kept"))
                lines += [f"{name}: {said}" for said in words if said]
            if said := drift.words("correspondence"):
                lines.append(f"{drift.pair}: {said}.")
        return list(dict.fromkeys(lines))


_REFITTED = "refitted on the adapt part"
_RATIOS = "‖ΔW_hh‖/‖ΔW_out‖"
_TABLE_3 = "The paper's ratios, and its gaps at 80/20 beside float64, are those of its Table 3."


def _recovery_text(line: Line) -> str:
    row = line.row
    if not row["run"]:
        return NOT_RUN
    if is_missing(row["recovery_percent"]) and n_diverged(row):
        return "diverged"
    columns = ("recovery_percent", "t95_low_percent", "t95_high_percent")
    text = estimate(*(row[column] for column in columns), n=row["n_seeds"])
    if row["constant_error"] < row["frozen_heldout_error"]:
        text += f"\nover best {number(row['over_best_percent'])}"
    return text if has_meaning(row) else NO_MEANING


def _rate_text(line: Line) -> str:
    return rate(line.row["learning_rate"]) + shared.EDGE * shared.is_true(line.row, "edge")


class Heldout(
    Table, name="heldout", label="Held-out recovery", chapter="drift", order=10,
    needs=("conditions", "heldout", "baselines"),
):  # fmt: skip
    """Held-out recovery and R2 of every condition at its selected rate, ours and the paper's."""

    says = f"""Recovery and R² on the held-out part (R²: mean over outputs), each condition at the
    rate selected on its validation part. Over best: recovery with the best constant in the place of
    a frozen network that is worse. Brackets: {OVER_SEEDS}; n: seeds, and how many of them diverged
    (div.), which are left out of the mean. Adapt: recovery over the adapt part, while learning.
    {_REFITTED.capitalize()} and then fixed, as baselines: ridge and recursive least squares (RLS)
    on the last inputs, a Kalman filter, the frozen network's readout; their brackets are over the
    networks that recovery is counted from."""
    cells = (
        called("optimizer"),
        cell("Rate", _rate_text),
        counted(),
        cell("Recovery (%)", _recovery_text, "Held-out"),
        value("R²", "r2_mean", group="Held-out", digits=2),
        value("Recovery (%)", "adapt_recovery_percent", group="Adapt"),
        cell("Held-out", lambda o: shared.paper_text(o.row, "recovery_percent"), "The paper"),
        value("Rate", "paper_learning_rate", rate, "The paper"),
    )
    optional = ("paper", "The paper")

    def rows(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The conditions with their networks' errors (means over seeds) and updates; baselines."""
        conditions, heldout, baselines = needed
        errors = ("frozen_heldout_error", "reference_error", "constant_error")
        columns = dict.fromkeys(errors, "mean") | {"updates": "max"}
        means = heldout.groupby([*KEYS], as_index=False)[list(columns)].agg(columns)
        rows = conditions.merge(means, how="left", on=[*KEYS])
        if len(baselines):
            more = {"learner": _REFITTED, "intervention": DEFAULTS["intervention"]}
            more["optimizer"] = baselines["baseline"].map(BASELINES)
            refitted = baselines.drop(columns="baseline").assign(**more)
            rows = pd.concat([rows, refitted], ignore_index=True)
        return shared.with_paper_rows(rows, study, load().recoveries)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, _, group in study.groups(rows, "learner"):
            updates = group["updates"].dropna().astype(int).max()
            few = shared.FEW if updates < shared.FEW_UPDATES else ""
            words = "" if is_missing(updates) else f" ({updates:,} updates{few})"
            yield title + words, group.to_dict("records")

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        notes = shared.mark_notes(contents.panels) + guard_notes([], contents.panels)
        for run in runs(needed[1], study):
            steps = f", {run.steps:,} steps adapted to" if run.steps else ""
            notes.append(
                f"{run.title}: held-out error ({run.unit}) {number(run.frozen_error, 2)} frozen, "
                f"{number(run.reference_error, 2)} reference{steps}."
            )
        return notes


def _papers_gap_text(line: Line) -> str:
    digits = int(is_missing(line.row["paper_update_ratio"]))
    return shared.paper_text(line.row, "gap_pp", digits, signed=True)


class RatioGap(
    Table, name="ratio_gap", label="Update-magnitude ratio and gap", chapter="ratio", order=10,
    needs=("ratio_gap", "ratio_gap_order"),
):  # fmt: skip
    """Update-magnitude ratio and gap by optimizer, ours and the paper's."""

    cells = (
        called("optimizer"),
        ends("ours", *(f"update_ratio{e}" for e in ("", "_low", "_high")), group=_RATIOS, digits=2),
        value("paper", "paper_update_ratio", group=_RATIOS, digits=2),
        ends("ours", "gap_pp", "low_pp", "high_pp", group="Gap (pp)", signed=True),
        cell("paper", _papers_gap_text, "Gap (pp)"),
        value("n", "n_seeds", count),
    )
    optional = ("paper", "The paper")
    says = f"""Mean over updates of {_RATIOS} under the comparison's first learner, and the held-out
    recovery gap of {{main}}, each at its best rate. Brackets: {shared.BOOTSTRAP}; n: seeds."""

    def rows(self, ratios: pd.DataFrame, order: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Beside the paper's table of ratios, and its other gaps elsewhere."""
        by = ["optimizer", "architecture", "precision", "split"]
        named = ["update_ratio", "gap_pp", "configuration", "place", "text"]
        table = pd.DataFrame(load().table("ratio_gap")).rename(columns={"gap_text": "text"})
        table = table[[*by, *named]].rename(columns={name: f"paper_{name}" for name in named})
        papers = pd.concat([table, load().gaps]).drop_duplicates(by)
        return shared.with_paper_rows(ratios, study, papers, study.main)

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        notes = []
        for row in needed[1].to_dict("records"):
            rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
            same = "; the paper's four are in one order" if study.paper_for(row, study.main) else ""
            notes.append(
                f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
                f"{study.condition_title(row, needed[1])}: {rank} (95 % bootstrap interval over "
                f"{count(row['n_seeds'])} seeds of one pair{same})."
            )
        if any(not is_missing(row["paper_update_ratio"]) for row in contents.records):
            notes.append(_TABLE_3)
        return notes + shared.mark_notes(contents.panels)
