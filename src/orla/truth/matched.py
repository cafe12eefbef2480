"""Controls matched to a study: its own scatter over pairs, with gaps that are known.

Each contrast over pairs is centred and resampled into made-up studies of as many pairs, to which
gaps of none, one and two margins are added. They are judged by the rules as they are, and by the
former ones: recovery at a rate chosen by one freezing, judged by its test alone.
Source: docs/protocol.md, Truth controls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orla.prereg import judge
from orla.prereg.registration import PAIR, RESULT, SEED, Registration
from orla.prereg.rules.equivalent_within import EquivalentWithin
from orla.results.base import Settings
from orla.results.contrasts import COMPARED, contrasts
from orla.results.estimands import AT_END
from orla.results.estimates import OverPairs
from orla.results.scales import VARIANCE
from orla.statistics.means import moments
from orla.study.keys import SETTING
from orla.truth.verdicts import COLUMNS, counted
from orla.truth.worlds import ESTIMAND_NAME

LEAST_PAIRS = 6
"""With fewer pairs a contrast has no scatter to resample."""
_KEYS = [name for name in SETTING if name != "pair"]
_BOUND = {"record_sha256": "none"}
# The former choice and score: weights frozen once, before the last fifth and at the end.
_FORMER = replace(AT_END, selected="selected_on_tail", validation="validation_error")


def table(
    models: pd.DataFrame, estimates: pd.DataFrame, settings: Settings, studies: int
) -> pd.DataFrame:
    """Rows as those of `verdicts.table`, three planted gaps a contrast and set of rules.

    Args:
        models: A row a model of the study.
        estimates: The study's gaps over seeds.
        settings: Those of the study.
        studies: Made-up studies a row.
    """
    former = _former(models, settings)
    rows: list[dict[str, Any]] = []
    at = [*_KEYS, *COMPARED]
    chosen = estimates[estimates["estimand"] == ESTIMAND_NAME]
    for key, pairs in chosen.groupby(at, sort=False):
        pairs = pairs[np.isfinite(pairs["error_gap"])]
        if len(pairs) < LEAST_PAIRS:
            continue
        known = dict(zip(at, key, strict=True))
        name = f"{known['optimizer']}, {known['comparison']}, {known['architecture']}"
        draws = np.random.default_rng(settings.seed).integers(0, len(pairs), (studies, len(pairs)))
        for margins in (0, 1, 2):
            answers = [("supported",), (), ("falsified",)][margins]
            wrong = [("falsified",), ("supported", "falsified"), ("supported",)][margins]
            gaps = former.get(tuple(key), np.empty(0))
            ways = {
                "": (settings.margin_variance, _judged(pairs, draws, margins, known, settings)),
                ", former rules": (settings.margin_pp, _tested(gaps, margins, studies, settings)),
            }
            for way, (margin, judged) in ways.items():
                if len(judged := pd.DataFrame(judged)):
                    said = {"world": f"{known['task']}: {name}{way}", "means": "its own scatter"}
                    said |= {"claim": f"equivalent_within {margin:g}"}
                    said |= {"true_gap": margins * margin}
                    rows.append(said | counted(judged, answers, wrong))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _judged(
    pairs: pd.DataFrame,
    draws: np.ndarray,
    margins: int,
    known: dict[str, Any],
    settings: Settings,
) -> Iterator[dict[str, Any]]:
    """The verdict on each made-up study, by the rules of every study."""
    moved = pairs["error_gap"].mean() - margins * settings.margin_variance
    columns = [c for c in pairs if c.startswith("error_gap")]
    shifted = pairs.assign(**{c: pairs[c] - moved for c in columns}, guards="")
    registration = _registered(known, pairs, settings)
    for draw in draws:
        study = shifted.iloc[draw].assign(pair=[f"pair-{i}" for i in range(len(draw))])
        over = known | {"estimand": ESTIMAND_NAME, "n_failing": 0}
        over |= {"n_diverged": study["n_diverged"].sum()}
        over |= {name: study[name].min() for name in ("n_seeds", "error_n_seeds")}
        for cell in OverPairs.every_cell:
            over |= cell.made(study.__getitem__, settings)
        tables = {RESULT[SEED]: study, RESULT[PAIR]: pd.DataFrame([over])}
        bindings = {registration.name: _BOUND}
        [verdict] = judge.judge([registration], tables, bindings=bindings)
        yield {
            "outcome": verdict["outcome"],
            "gap": over["error_gap"],
            "between_sd": study["error_gap"].std(),
        }


def _tested(
    gaps: np.ndarray, margins: int, studies: int, settings: Settings
) -> Iterator[dict[str, Any]]:
    """The same of former gaps (pairs,) in pp, by the test of equivalence alone."""
    if len(gaps) < LEAST_PAIRS:
        return
    rule, shifted = EquivalentWithin(settings.margin_pp), gaps - gaps.mean()
    shifted = shifted + margins * settings.margin_pp
    draws = np.random.default_rng(settings.seed).integers(0, len(gaps), (studies, len(gaps)))
    for values in shifted[draws]:
        mean = moments(values)
        claim, opposite = rule.tests(mean.mean, mean.standard_error, mean.dof)
        outcome = "inconclusive"
        if min(claim, opposite) < settings.alpha:
            outcome = "supported" if claim < settings.alpha else "falsified"
        yield {"outcome": outcome, "gap": mean.mean, "between_sd": mean.sd}


def _former(models: pd.DataFrame, settings: Settings) -> dict[tuple, np.ndarray]:
    """Gaps of recovery (pairs,) in pp at the former choice of the rate, by contrast."""
    found: dict[tuple, list[float]] = {}
    for one in contrasts(models, settings, estimands={"former": _FORMER}):
        gap = moments(one.gap)
        if one.full.has_meaning and gap.n:
            key = tuple(one.key[name] for name in (*_KEYS, *COMPARED))
            found.setdefault(key, []).append(gap.mean)
    return {key: np.array(gaps) for key, gaps in found.items()}


def _registered(known: dict[str, Any], pairs: pd.DataFrame, settings: Settings) -> Registration:
    fixed = ("task", *COMPARED)
    return Registration(
        name="matched",
        folder=Path(),
        title="",
        checks=(),
        outcomes={},
        primary=True,
        task=known["task"],
        estimand=ESTIMAND_NAME,
        unit=PAIR,
        pairs=len(pairs),
        seeds=int((pairs["error_n_seeds"] + pairs["n_diverged"]).max()),
        conditions={name: value for name, value in known.items() if name not in fixed},
        comparison=known["comparison"],
        minus=(known["learner_full"], known["learner_immediate"]),
        rule=EquivalentWithin(settings.margin_variance),
        scale=VARIANCE.unit,
        alpha=settings.alpha,
        max_diverged=10**6,
        max_failing=len(pairs),
        binds=_BOUND,
    )
