"""The opening of the page: three sentences on what was asked, done and found."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from orla.reports.numbers import number
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.words import OUTCOME_SIGNS

_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"


def title(study: StudyFacts) -> str:
    """The page's title: the study's own, the paper's question, or one made from the data."""
    if study.title:
        return study.title
    return _PAPERS_QUESTION if study.reproduces else f"Online adaptation to {study.data}"


def sentences(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> dict[str, str]:
    """What was asked, done and found.

    Args:
        results: results by file stem: heldout, gaps and verdicts are read.
        study: names, comparisons and data of the study.

    Returns:
        "Asked", "Done" and "Found", a sentence each.
    """
    return {
        "Asked": _asked(study),
        "Done": _done(results.get("heldout"), study),
        "Found": _found(results.get("verdicts"), results.get("gaps"), study),
    }


def _asked(study: StudyFacts) -> str:
    if study.reproduces:
        paper = load().document
        return (
            "Whether immediate derivatives, which hold the past fixed, adapt a recurrent network "
            f"as well as full gradients do, as “{paper['title']}” ({paper['author']}) reports."
        )
    given = study.comparison(study.main)
    if not given.minuend:
        return f"How well each learner adapts a recurrent network to {study.data}."
    pair = [study.called("learner", learner) for learner in (given.minuend, given.subtrahend)]
    return f"Whether “{pair[0]}” recovers more than “{pair[1]}” on {study.data}."


def _done(heldout: pd.DataFrame | None, study: StudyFacts) -> str:
    if heldout is None or heldout.empty:
        return "No model was run."
    names = {
        kind: [study.called(kind, slug) for slug in study.present(heldout, kind)]
        for kind in ("architecture", "learner", "optimizer", "split")
    }
    keys = ["task", "pair", "architecture", "precision", "start", "seed"]
    networks = len(heldout.drop_duplicates(keys))
    return (
        f"{networks} pretrained {_and(names['architecture'])} networks were adapted to "
        f"{study.data}, split {_and(names['split'])}, by {_count(names['learner'], 'learner')} "
        f"with {_and(names['optimizer'])}: {len(heldout)} models at rates chosen on a validation "
        "part, scored on a held-out part that nothing was learned from or chosen on."
    )


def _found(verdicts: pd.DataFrame | None, gaps: pd.DataFrame | None, study: StudyFacts) -> str:
    parts = [part for part in (_judged(verdicts), _gaps(gaps, study)) if part]
    text = "; ".join(parts) or "nothing yet"
    return f"{text[0].upper()}{text[1:]}."


def _judged(verdicts: pd.DataFrame | None) -> str:
    if verdicts is None or verdicts.empty:
        return "no registration has been judged"
    counts = verdicts["outcome"].value_counts()
    told = [f"{counts[name]} {name}" for name in OUTCOME_SIGNS if name in counts]
    what = "hypothesis" if len(verdicts) == 1 else "hypotheses"
    return f"of {len(verdicts)} registered {what}: {_and(told)}"


def _gaps(gaps: pd.DataFrame | None, study: StudyFacts) -> str:
    if gaps is None or gaps.empty:
        return ""
    rows = gaps[(gaps["comparison"] == study.main) & gaps["gap_pp"].notna()]
    if rows.empty:
        return ""
    ends = [
        f"{number(row['gap_pp'], signed=True)} pp "
        f"({study.called('optimizer', row['optimizer'])}, {study.title_of(row, rows)})"
        for row in (rows.loc[rows["gap_pp"].idxmin()], rows.loc[rows["gap_pp"].idxmax()])
    ]
    span = f"is {ends[0]}" if len(rows) == 1 else f"runs from {ends[0]} to {ends[1]}"
    return (
        f"the gap of {study.words(study.main)} {span}, shown equivalent within "
        f"±{study.margin_pp:g} pp in {int(rows['equivalent'].sum())} of {len(rows)}"
    )


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _count(names: list[str], what: str) -> str:
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'}"
