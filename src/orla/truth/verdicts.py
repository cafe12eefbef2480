"""Verdicts on made-up studies, by the statistics and the judge of every study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from orla.prereg import judge
from orla.prereg.registration import PAIR, RESULT, SEED, Registration
from orla.prereg.rules import MeanRule
from orla.results import base
from orla.results.scales import VARIANCE
from orla.study.keys import OVER_PAIRS
from orla.truth import worlds
from orla.truth.studies import reselect_rates
from orla.truth.worlds import Control

_OUTCOMES = ("supported", "falsified", "inconclusive", "untestable")
PRESENT, FORMER = "present", "former"
COLUMNS = {
    "world": "Name of the control; empty for the scatter of a contrast of the study.",
    "means": "What it is made of.",
    **{name: f"Of that contrast: {text}" for name, text in OVER_PAIRS.items()},
    "comparison": "Of that contrast: the comparison, as the config names it.",
    "rules": f'Rules that it was judged by: "{PRESENT}"; or "{FORMER}": recovery at a rate chosen '
    "by one freezing, judged by its test alone.",
    "margins": "Gap that was planted, in margins; null where learners differ.",
    "true_gap": "The same in the claim's unit.",
    "claim": "Region in which the gap was claimed to lie.",
    "studies": "Made-up studies.",
    **dict.fromkeys(_OUTCOMES, "Studies with this verdict."),
    "right": "Studies whose verdict is right.",
    "wrong": "Studies whose verdict is wrong.",
    "undecided": "All other studies.",
    "wrong_share": "Share of wrong verdicts.",
    "wrong_low": "Lower end of its 95 % Clopper-Pearson interval.",
    "wrong_high": "Upper end of that interval.",
    "gap": "Mean over studies of the estimated gap, in that unit.",
    "between_sd": "Mean over studies of the standard deviation between pairs.",
}
_COMPARISON = "truth"


def control_table(
    models: Mapping[str, pd.DataFrame], networks: int, settings: base.Settings
) -> pd.DataFrame:
    """How many studies of each control got which verdict: `COLUMNS`, a row a control.

    Args:
        models: World -> its table of models, from `studies.simulate_models`.
        networks: Networks a pair and side.
        settings: Margin and level of the study.
    """
    rows = []
    for name, control in worlds.CONTROLS.items():
        if control.world in models:
            verdicts = judge_studies(name, control, models[control.world], networks, settings)
            row = count_verdicts(verdicts, control.rule, control.right, control.wrong)
            gap = np.nan if control.planted_gap is None else control.planted_gap
            row |= {"world": name, "means": control.means, "rules": PRESENT}
            rows.append(row | {"true_gap": gap, "margins": gap / worlds.MARGIN})
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.assign(**dict.fromkeys([*OVER_PAIRS, "comparison"], ""))


def judge_studies(
    name: str, control: Control, models: pd.DataFrame, networks: int, settings: base.Settings
) -> pd.DataFrame:
    """Verdicts on a control's studies, a row each: `outcome`, `gap`, `between_sd`."""
    minus = (worlds.FULL if control.planted_gap is None else worlds.AGAIN, worlds.IMMEDIATE)
    comparisons = {_COMPARISON: base.Comparison("", *minus)}
    settings = replace(settings, comparisons=comparisons, main=_COMPARISON)
    study_models = compared_models(control, models, networks)
    names = {number: f"{name}-{number:04d}" for number in sorted(study_models["study"].unique())}
    study_models["task"] = study_models["study"].map(names)
    tables = {"models": study_models}
    for result in (RESULT[SEED], RESULT[PAIR]):
        tables[result] = base.build(result, tables, settings)
    pairs = int(study_models.groupby("study")["pair"].nunique().max())
    registration = make_registration(
        *(name, control.rule, minus),
        pairs=pairs,
        seeds=networks,
        alpha=settings.alpha,
        comparison=_COMPARISON,
        conditions=worlds.CONDITION,
        max_diverged=2,
        max_failing=pairs // 2,
        must_recover=minus,
    )
    rows = []
    for number, task in names.items():
        study_tables = {
            result: tables[result][tables[result]["task"] == task].assign(task=name)
            for result in RESULT.values()
        }
        outcome = registration_outcome(registration, study_tables)
        row = study_tables[RESULT[PAIR]].iloc[0]
        rows.append((number, outcome, row["error_gap"], row["error_between_sd"]))
    return pd.DataFrame(rows, columns=["study", "outcome", "gap", "between_sd"])


def make_registration(
    task: str, rule: MeanRule, minus: tuple[str, ...], **more: Any
) -> Registration:
    """A claim about a gap of errors over pairs; `more` are further parts of its registration."""
    more |= {"task": task, "rule": rule, "minus": minus, "estimand": worlds.ESTIMAND_NAME}
    more |= {"unit": PAIR, "scale": VARIANCE.unit, "binds": {"record_sha256": "none"}}
    return Registration(task, Path(), primary=True, **more)


def registration_outcome(registration: Registration, tables: Mapping[str, pd.DataFrame]) -> str:
    """The outcome of a registration, by the rules of every study."""
    bindings = {registration.name: registration.binds}
    [verdict] = judge.judge_registrations([registration], tables, bindings=bindings)
    return verdict["outcome"]


def compared_models(control: Control, models: pd.DataFrame, networks: int) -> pd.DataFrame:
    """Rows of models of the two learners that a control compares, their rates chosen anew.

    With a planted gap both are one learner, whose networks are split in two; one side has the gap.
    """
    if control.planted_gap is None:
        return reselect_rates(models[models["seed"] < networks])
    immediate = models[models["learner"] == worlds.IMMEDIATE]
    # Networks are divided into halves, or into even and odd ones.
    side, number = np.divmod(immediate["seed"], networks if control.halves else 2)
    if not control.halves:
        side, number = number, side
    immediate = immediate.assign(seed=number)
    again = plant_gap(immediate[side == 0].assign(learner=worlds.AGAIN), control.planted_gap)
    return reselect_rates(pd.concat([again, immediate[side == 1]], ignore_index=True))


def plant_gap(models: pd.DataFrame, error_reduction: float) -> pd.DataFrame:
    """Models whose judged error is lower by `error_reduction`; rates are chosen as before."""
    spread = models["frozen_heldout_error"] - models["reference_error"]
    error, recovery = worlds.ESTIMAND.error, worlds.ESTIMAND.recovery
    moved = {
        error: models[error] - error_reduction,
        recovery: models[recovery] + 100 * error_reduction / spread,
    }
    return models.assign(**moved)


def count_verdicts(
    rows: pd.DataFrame, rule: MeanRule, right: Collection[str], wrong: Collection[str]
) -> dict[str, object]:
    """The claim, how many studies (rows) got which verdict, the wrong share, and means.

    Means are over studies; outcomes that are neither right nor wrong are undecided.
    """
    n, counts = len(rows), dict.fromkeys(_OUTCOMES, 0) | rows["outcome"].value_counts().to_dict()
    n_right, n_wrong = (sum(map(counts.get, outcomes)) for outcomes in (right, wrong))
    share = stats.binomtest(n_wrong, n).proportion_ci(0.95)
    return counts | {
        **{"claim": rule.region.describe(), "studies": n},
        **{"right": n_right, "wrong": n_wrong, "undecided": n - n_right - n_wrong},
        **{"wrong_share": n_wrong / n, "wrong_low": share.low, "wrong_high": share.high},
        **{"gap": rows["gap"].mean(), "between_sd": rows["between_sd"].mean()},
    }
