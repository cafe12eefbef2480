"""The opening of the page: the answer, what was asked, over what, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from orla.reports.answer import FEWEST_PAIRS, Answer, answer
from orla.reports.numbers import number
from orla.reports.paper import load
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.verdicts import VerdictLine
from orla.reports.words import count_of, phrase

_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"
_MOST_NAMES = 4


@dataclass(frozen=True)
class Opening:
    """The title of a report, its answer, and "Asked", "Over what", "How far to trust it"."""

    title: str
    answer: Answer
    background: dict[str, str]


def opening(
    results: Mapping[str, pd.DataFrame], verdicts: list[VerdictLine], study: StudyFacts
) -> Opening:
    """The opening, from results by file stem.

    Args:
        results: heldout, estimates, over_pairs and truth_controls are read.
        verdicts: the registrations' verdicts, the weightiest first.
        study: names, comparisons and data of the study.
    """
    title = _PAPERS_QUESTION if study.reproduces else f"Online adaptation to {study.data}"
    background = {
        "Asked": _asked(study),
        "Over what": _over(results.get("heldout"), study),
        "How far to trust it": " ".join(_trust(results, study)),
    }
    return Opening(study.title or title, answer(results, verdicts, study), background)


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


def _over(heldout: pd.DataFrame | None, study: StudyFacts) -> str:
    if heldout is None or heldout.empty:
        return "No model was run."
    names = {
        kind: list(dict.fromkeys(study.names(heldout, kind).values()))
        for kind in ("architecture", "learner", "optimizer", "split")
    }
    keys = ["task", "pair", "architecture", "precision", "start", "seed"]
    networks = len(heldout.drop_duplicates(keys))
    optimizers, splits = _few(names["optimizer"], "optimizer"), phrase(names["split"])
    return (
        f"{networks} networks ({_few(names['architecture'], 'architecture')}) on "
        f"{_streams(heldout, study)} ({study.data}), split {splits}, by "
        f"{count_of(len(names['learner']), 'learner')} with {optimizers}: {len(heldout)} models at "
        "rates chosen on a validation part, scored on a held-out part that nothing was learned "
        "from or chosen on."
    )


def _few(names: list[str], what: str) -> str:
    return phrase(names) if len(names) <= _MOST_NAMES else f"{len(names)} {what}s"


def _streams(heldout: pd.DataFrame, study: StudyFacts) -> str:
    """How many pairs of sessions, and how many streams of tasks without pairs."""
    streams = heldout[["task", "pair"]].drop_duplicates()
    pairs = int(streams["task"].isin(study.recordings).sum())
    told = [f"{count_of(pairs, 'pair')} of sessions"] if pairs else []
    others = len(streams) - pairs
    return phrase([*told, *([count_of(others, "synthetic stream")] if others else [])])


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
    pairs = 0 if heldout is None else len(heldout.loc[recorded, ["task", "pair"]].drop_duplicates())
    if 0 < pairs < FEWEST_PAIRS:
        told.append(
            f"There {'is one pair' if pairs == 1 else f'are {pairs} pairs'} of sessions: intervals "
            "are over the networks of one and say nothing about another."
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
    guarded = _guarded(results.get("estimates"))
    return [*told, guarded] if guarded else told


def _guarded(estimates: pd.DataFrame | None) -> str:
    if estimates is None or estimates.empty or "guards" not in estimates:
        return ""
    failing = int(estimates["guards"].fillna("").astype(bool).sum())
    return f"Of {len(estimates)} gaps {failing} fail a guard (see Words) and are marked."
