"""The opening of the page: what was asked, what was found, over what, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports.beside import VS_RTRL
from orla.reports.estimates import ESTIMANDS, OF_HELDOUT, has_meaning
from orla.reports.numbers import estimate, interval, is_missing, number
from orla.reports.paper import load
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.verdicts import outcome_words
from orla.reports.words import OUTCOME_SIGNS
from orla.statistics.means import moments

_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"
_FEWEST_PAIRS = 3
_NO_RECOVERY = (
    "Recovery has no meaning: the frozen network's error is too near the reference's, or worse "
    "than the best constant's."
)


def title(study: StudyFacts) -> str:
    """The page's title: the study's own, the paper's question, or one made from the data."""
    if study.title:
        return study.title
    return _PAPERS_QUESTION if study.reproduces else f"Online adaptation to {study.data}"


def sentences(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> dict[str, str]:
    """What was asked and found, over what, and how far to trust it.

    Args:
        results: results by file stem: heldout, estimates, over_pairs, verdicts and
            truth_controls are read.
        study: names, comparisons and data of the study.

    Returns:
        "Asked", "Found", "Over what" and "How far to trust it", some sentences each.
    """
    verdicts, heldout = results.get("verdicts"), results.get("heldout")
    return {
        "Asked": _asked(study),
        "Found": " ".join([*_gaps(results, study), _judged(verdicts, study)]),
        "Over what": _over(heldout, study),
        "How far to trust it": " ".join(_trust(results, study)),
    }


def _asked(study: StudyFacts) -> str:
    asked = []
    if study.reproduces:
        paper = load().document
        asked.append(
            "Whether immediate derivatives, which hold the past fixed, adapt a recurrent network "
            f"as well as full gradients do, as “{paper['title']}” ({paper['author']}) reports."
        )
    elif (given := study.comparison(study.main)).minuend:
        pair = [study.called("learner", name) for name in (given.minuend, given.subtrahend)]
        asked.append(f"Whether “{pair[0]}” recovers more than “{pair[1]}” on {study.data}.")
    else:
        asked.append(f"How well each learner adapts a recurrent network to {study.data}.")
    if square(study):
        asked.append(
            "And which of two things a difference comes from: the gradient, or how often the "
            "weights are updated."
        )
    return " ".join(asked)


def _gaps(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> list[str]:
    """What gradient and cadence add, over pairs where there are some, else over seeds."""
    names = square(study) or (study.main,)
    kinds = (
        (results.get("over_pairs"), "over pairs of sessions"),
        (results.get("estimates"), "over seeds of one pair"),
    )
    for frame, unit in kinds:
        if frame is None or frame.empty or not frame["comparison"].isin(names).any():
            continue
        own = frame[frame["comparison"].isin(names)]
        if "n_pairs" in own:  # one pair has no interval over pairs
            own = own[own["n_pairs"] > 1]
        if own.empty:
            continue
        own = own[own["estimand"] == _known(own)[0]]
        if "pair" not in own:
            own = own.assign(pair="")
        title, _, rows = max(study.groups(own), key=lambda group: _weight(group.rows))
        if not rows.apply(has_meaning, axis=1).any():
            return [_NO_RECOVERY, *_against_rtrl(results.get("heldout"), study)]
        told = [
            f"{study.called('optimizer', optimizer)}: {_differences(part, names, study)}."
            for optimizer, part in rows.groupby("optimizer", sort=False)
        ]
        estimand = ESTIMANDS.get(own["estimand"].iloc[0], own["estimand"].iloc[0])
        first = f"Differences of recovery in pp ({title}; {estimand}; 95 % {unit})."
        return [first, *told, *_against_rtrl(_synthetic(results.get("heldout"), study), study)]
    return ["No difference has been estimated."]


def _known(frame: pd.DataFrame) -> list[str]:
    found = frame["estimand"].unique().tolist()
    return [e for e in OF_HELDOUT if e in found] or found


def _weight(rows: pd.DataFrame) -> tuple[int, ...]:
    """The condition that the opening is about.

    One in which recovery has a meaning, then of most pairs, then comparisons, then seeds.
    """
    pairs = int(rows["n_pairs"].max()) if "n_pairs" in rows else 1
    asked = rows["comparison"].nunique() * rows["optimizer"].nunique()
    meaning = int(rows.apply(has_meaning, axis=1).any())
    return meaning, pairs, asked, int(rows["n_seeds"].max())


def _against_rtrl(heldout: pd.DataFrame | None, study: StudyFacts) -> list[str]:
    """What the learner that is compared recovers of exact RTRL's recovery, task by task."""
    column, learner = VS_RTRL.heldout, study.comparison(study.main).subtrahend
    if heldout is None or column not in heldout:
        return []
    own = heldout[(heldout["learner"] == learner) & heldout[column].notna()]
    if own.empty:
        return []
    # The network and optimizer of most models.
    chosen = {name: own[name].mode().iloc[0] for name in ("architecture", "optimizer")}
    for name, value in chosen.items():
        own = own[own[name] == value]
    names = [study.called("learner", learner)]
    names += [study.called(name, chosen[name]) for name in ("optimizer", "architecture")]
    tasks = "; ".join(
        f"{study.called('task', task)} {estimate(found.mean, *found.interval(), digits=0)}"
        for task, rows in own.groupby("task", sort=False)
        for found in [moments(rows[column])]
    )
    return [
        f"Held out, {names[0]} with {names[1]} ({names[2]}) recovers, where the best exact RTRL "
        f"recovers 100 %: {tasks} % (95 % over seeds)."
    ]


def _synthetic(models: pd.DataFrame | None, study: StudyFacts) -> pd.DataFrame | None:
    return None if models is None else models[~models["task"].isin(study.recordings)]


def _differences(rows: pd.DataFrame, names: tuple[str, ...], study: StudyFacts) -> str:
    cells = {row["comparison"]: row for row in rows.to_dict("records")}
    return "; ".join(
        f"{study.called('comparison', name)} {_gap(cells[name])}" for name in names if name in cells
    )


def _gap(row: dict[str, Any]) -> str:
    if not has_meaning(row) or is_missing(row["gap_pp"]):
        return "without meaning"
    ends = interval(row["t95_low_pp"], row["t95_high_pp"])
    told = f"{number(row['gap_pp'], signed=True)} {ends}".rstrip()
    if row.get("n_failing"):
        told += f" ({row['n_failing']:.0f} of {row['n_pairs']:.0f} pairs fail a guard)"
    return told


def _judged(verdicts: pd.DataFrame | None, study: StudyFacts) -> str:
    if verdicts is None or verdicts.empty:
        return "No registration has been judged."
    said = [outcome_words(row, study) for row in verdicts.to_dict("records")]
    ranks = dict(zip(verdicts["outcome"], said, strict=True))
    order = [ranks[name] for name in OUTCOME_SIGNS if name in ranks]
    told = [f"{said.count(words)} {words}" for words in dict.fromkeys([*order, *said])]
    what = "hypothesis" if len(verdicts) == 1 else "hypotheses"
    return f"Of {len(verdicts)} registered {what}: {_and(told)}."


def _over(heldout: pd.DataFrame | None, study: StudyFacts) -> str:
    if heldout is None or heldout.empty:
        return "No model was run."
    names = {
        kind: list(dict.fromkeys(study.called(kind, s) for s in study.present(heldout, kind)))
        for kind in ("architecture", "learner", "optimizer", "split")
    }
    keys = ["task", "pair", "architecture", "precision", "start", "seed"]
    networks = len(heldout.drop_duplicates(keys))
    return (
        f"{networks} networks ({_and(names['architecture'])}) on {_streams(heldout, study)} "
        f"({study.data}), split {_and(names['split'])}, by "
        f"{_count(len(names['learner']), 'learner')} with {_and(names['optimizer'])}: "
        f"{len(heldout)} models at rates chosen on a validation part, scored on a held-out part "
        "that nothing was learned from or chosen on."
    )


def _streams(heldout: pd.DataFrame, study: StudyFacts) -> str:
    """How many pairs of sessions, and how many streams of tasks without pairs."""
    streams = heldout[["task", "pair"]].drop_duplicates()
    pairs = int(streams["task"].isin(study.recordings).sum())
    told = [f"{_count(pairs, 'pair')} of sessions"] if pairs else []
    others = len(streams) - pairs
    return _and([*told, *([_count(others, "synthetic stream")] if others else [])])


def _trust(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> list[str]:
    heldout = results.get("heldout")
    tasks = heldout["task"] if heldout is not None else pd.Series(dtype=str)
    recorded = tasks.isin(study.recordings)
    told = []
    if study.simulated:
        told.append(
            "The sessions are simulated: this shows what the study can tell, not what the brain "
            "does."
        )
    elif recorded.any() or tasks.empty:
        told.append(f"The sessions are recordings ({study.data}).")
    if not recorded.all():
        rest = "Other" if recorded.any() else "The"
        told.append(f"{rest} tasks are synthetic: these tell nothing of recordings.")
    pairs = 0 if heldout is None else len(heldout[["task", "pair"]].drop_duplicates())
    if 0 < pairs < _FEWEST_PAIRS:
        told.append(
            f"There {'is one pair' if pairs == 1 else f'are {pairs} pairs'} of sessions: intervals "
            "are over its networks and say nothing about another pair."
        )
    controls = results.get("truth_controls")
    if controls is None or controls.empty:
        told.append("The rules have not been tried on made-up studies with a known answer here.")
    else:
        worst = controls.loc[controls["wrong_share"].idxmax()]
        wrong, studies = int(controls["wrong"].sum()), int(controls["studies"].sum())
        told.append(
            f"Of {studies} made-up studies with a known answer {wrong} got a wrong verdict, at "
            f"most {number(100 * worst['wrong_share'])} % in one kind ({worst['world']})."
        )
    verdicts = results.get("verdicts")
    if verdicts is not None and len(verdicts):
        lost = int((verdicts["outcome"] == "untestable").sum())
        verb = "registration is" if lost == 1 else "registrations are"
        told.append(f"{lost} {verb} untestable." if lost else "No registration is untestable.")
    guarded = _guarded(results.get("estimates"))
    return [*told, guarded] if guarded else told


def _guarded(estimates: pd.DataFrame | None) -> str:
    if estimates is None or estimates.empty or "guards" not in estimates:
        return ""
    failing = int(estimates["guards"].fillna("").astype(bool).sum())
    return f"Of {len(estimates)} gaps {failing} fail a guard (see Words) and are marked."


def _and(names: list[str]) -> str:
    """Names in one phrase; names that hold commas stand between semicolons."""
    if any(", " in name for name in names):
        return "; ".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _count(number_of: int, what: str) -> str:
    return f"{number_of} {what}{'' if number_of == 1 else 's'}"
