"""Controls matched to a study: its own scatter over pairs, with gaps that are known.

Each contrast over pairs is centred and resampled into made-up studies of as many pairs, to which
gaps of none, one and two margins are added. They are judged by the rules as they are, and by the
former ones: recovery at a rate chosen by one freezing, judged by its test alone.
Source: docs/protocol.md, Truth controls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orla.prereg.registration import PAIR, RESULT, SEED
from orla.prereg.rules import EquivalentWithin
from orla.results.base import Settings
from orla.results.contrasts import COMPARED, contrasts
from orla.results.estimands import AT_END
from orla.results.estimates import OverPairs
from orla.results.summary import cells_row
from orla.statistics.means import moments
from orla.study.keys import OVER_PAIRS
from orla.truth.verdicts import (
    COLUMNS,
    FORMER,
    PRESENT,
    count_verdicts,
    make_registration,
    registration_outcome,
)
from orla.truth.worlds import ESTIMAND_NAME

LEAST_PAIRS = 6
"""With fewer pairs a contrast has no scatter to resample."""
_AT = [*OVER_PAIRS, *COMPARED]
# The former choice and score: weights frozen once, before the last fifth and at the end.
_FORMER = replace(AT_END, selected="selected_on_tail", validation="validation_error")
# Margins planted -> the outcomes that are right, and those that are wrong.
_ANSWERS = {
    0: (("supported",), ("falsified",)),
    1: ((), ("supported", "falsified")),
    2: (("falsified",), ("supported",)),
}


def matched_control_table(
    models: pd.DataFrame, estimates: pd.DataFrame, settings: Settings, n_studies: int
) -> pd.DataFrame:
    """Counts of verdicts as in `verdicts.control_table`, of controls with the scatter of a study.

    There are three planted gaps a contrast and set of rules, from the study's models and its gaps
    over seeds; `n_studies` are made up a row.
    """
    former = _gaps_by_former_selection(models, settings)
    pp, variance = map(EquivalentWithin, (settings.margin_pp, settings.margin_variance))
    rows: list[dict[str, Any]] = []
    selection = estimates[estimates["estimand"] == ESTIMAND_NAME]
    for values, pairs in selection.groupby(_AT, sort=False):
        pairs = pairs[np.isfinite(pairs["error_gap"])]
        if len(pairs) < LEAST_PAIRS:
            continue
        keys = dict(zip(_AT, values, strict=True))
        gaps = former.get(tuple(values), np.empty(0))
        for margins, answers in _ANSWERS.items():
            ways = {
                PRESENT: (
                    variance,
                    _resampled_registration_verdicts(
                        pairs, n_studies, margins, keys, settings, variance
                    ),
                ),
                FORMER: (pp, _resampled_test_verdicts(gaps, n_studies, margins, settings, pp)),
            }
            for way, (rule, outcomes) in ways.items():
                if len(verdicts := pd.DataFrame(outcomes)):
                    row = keys | {"world": "", "means": "scatter of the study", "rules": way}
                    row |= {"margins": margins, "true_gap": margins * rule.value}
                    rows.append(row | count_verdicts(verdicts, rule, *answers))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _draw_pairs(pairs: int, studies: int, settings: Settings) -> np.ndarray:
    """(studies, pairs) numbers of pairs, drawn with replacement."""
    return np.random.default_rng(settings.seed).integers(0, pairs, (studies, pairs))


def _resampled_registration_verdicts(
    pairs: pd.DataFrame,
    n_studies: int,
    n_margins: int,
    keys: dict[str, Any],
    settings: Settings,
    rule: EquivalentWithin,
) -> Iterator[dict[str, Any]]:
    """The verdict on each made-up study, by the rules of every study."""
    offset = pairs["error_gap"].mean() - n_margins * rule.value
    columns = [c for c in pairs if c.startswith("error_gap")]
    shifted_pairs = pairs.assign(**{c: pairs[c] - offset for c in columns}, guards="")
    registration = make_registration(
        *(keys["task"], rule, (keys["learner_full"], keys["learner_immediate"])),
        pairs=len(pairs),
        seeds=int((pairs["error_n_seeds"] + pairs["n_diverged"]).max()),
        alpha=settings.alpha,
        conditions={name: v for name, v in keys.items() if name not in ("task", *COMPARED)},
        comparison=keys["comparison"],
        max_diverged=10**6,
        max_failing=len(pairs),
    )
    for draw in _draw_pairs(len(pairs), n_studies, settings):
        study = shifted_pairs.iloc[draw].assign(pair=[f"pair-{i}" for i in range(len(draw))])
        over = keys | {"estimand": ESTIMAND_NAME, "n_failing": 0}
        over |= {"n_diverged": study["n_diverged"].sum()}
        over |= {name: study[name].min() for name in ("n_seeds", "error_n_seeds")}
        over |= cells_row(OverPairs.every_cell, study.__getitem__, settings)
        tables = {RESULT[SEED]: study, RESULT[PAIR]: pd.DataFrame([over])}
        outcome = registration_outcome(registration, tables)
        yield {"outcome": outcome, "gap": over["error_gap"], "between_sd": study["error_gap"].std()}


def _resampled_test_verdicts(
    gaps: np.ndarray, n_studies: int, n_margins: int, settings: Settings, rule: EquivalentWithin
) -> Iterator[dict[str, Any]]:
    """The verdict on each made-up study of former gaps (pairs,) in pp, by the test alone."""
    if len(gaps) < LEAST_PAIRS:
        return
    shifted_gaps = gaps - gaps.mean() + n_margins * rule.value
    for values in shifted_gaps[_draw_pairs(len(gaps), n_studies, settings)]:
        gap = moments(values)
        claim, opposite = rule.mean_p_values(gap.mean, gap.standard_error, gap.dof)
        outcome = "falsified" if opposite < settings.alpha else "inconclusive"
        outcome = "supported" if claim < settings.alpha else outcome
        yield {"outcome": outcome, "gap": gap.mean, "between_sd": gap.sd}


def _gaps_by_former_selection(models: pd.DataFrame, settings: Settings) -> dict[tuple, np.ndarray]:
    """Gaps of recovery (pairs,) in pp at the former choice of the rate, by contrast."""
    gaps_by_key: dict[tuple, list[float]] = {}
    for one in contrasts(models, settings, estimands={"former": _FORMER}):
        gap = moments(one.gap)
        if one.full.recovery_has_meaning and gap.n:
            gaps_by_key.setdefault(tuple(one.key[name] for name in _AT), []).append(gap.mean)
    return {key: np.array(gaps) for key, gaps in gaps_by_key.items()}
