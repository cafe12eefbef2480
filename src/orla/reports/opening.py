"""The opening of a report: the answer, what was asked, over what, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from orla import catalogue
from orla.reports.answer import FEWEST_PAIRS, answer
from orla.reports.chapters import chapter, place
from orla.reports.estimates import has_meaning
from orla.reports.numbers import number
from orla.reports.paper import load
from orla.reports.sessions import sentences
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.verdicts import VerdictLine
from orla.reports.words import count_of, phrase

Results = Mapping[str, pd.DataFrame]
_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"
_MOST_NAMES = 4


class Opening(NamedTuple):
    """A report's title, its answer (see `orla.reports.answer.answer`), and what stands behind it:
    "Asked", "Over what" and "How far to trust it"."""

    title: str
    sentences: list[str]
    further: list[str]
    note: str
    quotes_gaps: bool
    background: dict[str, str]


def opening(results: Results, verdicts: list[VerdictLine], study: StudyFacts) -> Opening:
    """The opening, from results by file stem and the verdicts, the weightiest first."""
    title = _PAPERS_QUESTION if study.reproduces else f"Online adaptation to {study.data}"
    drift = sentences(results.get("drift_report"))
    asked = _asked(study) if drift else " ".join(_chapters(results))
    if results.get("heldout") is None and asked:  # no network has been trained on a stream
        return Opening(title, drift, [], "", False, {"Asked": asked})
    background = ({"The drift": " ".join(drift)} if drift else {}) | {
        "Asked": _asked(study),
        "Over what": _over(results.get("heldout"), study),
        "How far to trust it": " ".join(_trust(results, study)),
    }
    return Opening(title, *answer(results, verdicts, study), background)


def _chapters(results: Results) -> Iterator[str]:
    """What the chapters that these results have tables for ask, in a sentence each."""
    there = {name for name, frame in results.items() if len(frame)}
    parts = [part.part for part in catalogue.parts("table").values()]
    shown = {part.chapter for part in parts if there.issuperset(part.more["needs"])}
    return (chapter(name).sentence for name in sorted(shown, key=place))


def _asked(study: StudyFacts) -> str:
    _, *learners = study.comparison(study.main)
    first, second = (study.called("learner", name) for name in learners)
    if study.reproduces:
        paper = load().document
        asked = (
            "Whether immediate derivatives, which hold the past fixed, adapt a recurrent network "
            f"as well as full gradients do, as “{paper['title']}” ({paper['author']}) reports."
        )
    elif first:
        asked = f"Whether “{first}” recovers more than “{second}” on {study.data}."
    else:
        asked = f"How well each learner adapts a recurrent network to {study.data}."
    further = (
        " And which of two things a difference comes from: the gradient, or how often the weights "
        "are updated."
    )
    return asked + (further if square(study) else "")


def _over(heldout: pd.DataFrame | None, study: StudyFacts) -> str:
    if heldout is None or heldout.empty:
        return "No model was run."
    names = {
        kind: list(dict.fromkeys(study.names(heldout, kind).values()))
        for kind in ("architecture", "learner", "optimizer", "split")
    }
    networks, optimizers = (
        phrase(names[kind]) if len(names[kind]) <= _MOST_NAMES else f"{len(names[kind])} {kind}s"
        for kind in ("architecture", "optimizer")
    )
    keys = ["task", "pair", "architecture", "precision", "start", "seed"]
    streams = heldout[["task", "pair"]].drop_duplicates()["task"].isin(study.recordings)
    counts = {"pair": int(streams.sum()), "synthetic stream": int((~streams).sum())}
    told = [
        count_of(n, what) + " of sessions" * (what == "pair") for what, n in counts.items() if n
    ]
    return (
        f"{len(heldout.drop_duplicates(keys))} networks ({networks}) on {phrase(told)} "
        f"({study.data}), split {phrase(names['split'])}, by "
        f"{count_of(len(names['learner']), 'learner')} with {optimizers}: {len(heldout)} models at "
        "rates chosen on a validation part, scored on a held-out part that nothing was learned "
        "from or chosen on."
    )


def _trust(results: Results, study: StudyFacts) -> Iterator[str]:
    heldout = results.get("heldout", pd.DataFrame(columns=["task", "pair"]))
    recorded = heldout["task"].isin(study.recordings)
    if study.simulated:
        yield (
            "The sessions are simulated: this shows what the study can tell, not what the brain "
            "does."
        )
    elif study.made_drift and recorded.any():
        yield (
            f"Spikes and movement are real, the drift is made ({study.data}): this shows how "
            "learners follow a drift that is known, not one that a brain or an array had."
        )
    elif recorded.any() or heldout.empty:
        yield f"The sessions are recordings ({study.data})."
    if not recorded.all():
        rest = "Other" if recorded.any() else "The"
        yield f"{rest} tasks are synthetic: these tell nothing of recordings."
    pairs = len(heldout.loc[recorded, ["task", "pair"]].drop_duplicates())
    if 0 < pairs < FEWEST_PAIRS:
        yield (
            f"There {'is one pair' if pairs == 1 else f'are {pairs} pairs'} of sessions: intervals "
            "are over the networks of one and say nothing about another."
        )
    controls = results.get("truth_controls")
    if controls is None or controls.empty:
        yield "The rules have not been tried on made-up studies with a known answer here."
    else:
        worst = controls.loc[controls["wrong_share"].idxmax()]
        wrong, studies = int(controls["wrong"].sum()), int(controls["studies"].sum())
        yield (
            f"Of {studies} made-up studies with a known answer {wrong} got a wrong verdict, at "
            f"most {number(100 * worst['wrong_share'])} % in one kind ({worst['world']})."
        )
    estimates = results.get("estimates", pd.DataFrame())
    if "guards" in estimates and len(estimates):
        failing = int(estimates["guards"].fillna("").astype(bool).sum())
        vague = sum(not has_meaning(row) for row in estimates.to_dict("records"))
        yield (
            f"Of {len(estimates)} gaps {failing} fail a guard and {vague} have no meaning (see "
            "Words); these are marked."
        )
