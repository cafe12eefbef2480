"""Verdicts on made-up studies, by the statistics and the judge of every study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from orla.prereg import judge
from orla.prereg.registration import PAIR, Registration
from orla.prereg.rules.base import rules
from orla.results import base
from orla.results.scales import VARIANCE
from orla.truth import worlds
from orla.truth.studies import reselected
from orla.truth.worlds import Control

_OUTCOMES = ("supported", "falsified", "inconclusive", "untestable")
COLUMNS = {
    "world": "Name of the control.",
    "means": "What it is made of.",
    "true_gap": "Gap that was planted, in the claim's unit; null where learners differ.",
    "claim": "What was claimed.",
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


def table(
    models: Mapping[str, pd.DataFrame], networks: int, settings: base.Settings
) -> pd.DataFrame:
    """One row a control: how many of its studies got which verdict.

    Args:
        models: World -> its table of models, from `studies.models`.
        networks: Networks a pair and side.
        settings: Margin, level and resamples of the study.

    Returns:
        A table with the columns `COLUMNS`, controls in the order of `worlds.CONTROLS`.
    """
    rows = []
    for name, control in worlds.CONTROLS.items():
        if control.world in models:
            judged = verdicts(name, control, models[control.world], networks, settings)
            rows.append(_row(name, control, judged))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def verdicts(
    name: str,
    control: Control,
    models: pd.DataFrame,
    networks: int,
    settings: base.Settings,
) -> pd.DataFrame:
    """One row a study: `outcome`, `reason`, `gap` and `between_sd`."""
    full = worlds.FULL if control.planted is None else worlds.AGAIN
    compared = base.Comparison("", full, worlds.IMMEDIATE)
    settings = replace(settings, comparisons={_COMPARISON: compared}, main=_COMPARISON)
    chosen = sides(control, models, networks)
    numbers = sorted(chosen["study"].unique())
    of_study = {number: f"{name}-{number:04d}" for number in numbers}
    chosen["task"] = chosen["study"].map(of_study)
    tables = {"models": chosen}
    for statistic in ("estimates", "over_pairs"):
        tables[statistic] = base.build(statistic, tables, settings)
    pairs = chosen.groupby("study")["pair"].nunique().max()
    known = _registered(name, control, full, int(pairs), networks, settings.alpha)
    rows = []
    for number, task in of_study.items():
        own = {
            statistic: found[found["task"] == task].assign(task=name)
            for statistic, found in tables.items()
            if statistic != "models"
        }
        [verdict] = judge.judge([known], own, bindings={name: known.binds})
        row = own["over_pairs"].iloc[0]
        rows.append(
            {
                "study": number,
                "outcome": verdict["outcome"],
                "reason": verdict["reason"],
                "gap": row["error_gap"],
                "between_sd": row["error_between_sd"],
            }
        )
    return pd.DataFrame(rows)


def sides(control: Control, models: pd.DataFrame, networks: int) -> pd.DataFrame:
    """The models of the control's two learners, rates chosen, with the planted gap."""
    immediate = models[models["learner"] == worlds.IMMEDIATE]
    if control.planted is None:
        own = models[models["seed"] < networks]
        return reselected(own)
    if control.halves:
        first, second = immediate["seed"] < networks, immediate["seed"] >= networks
        number = immediate["seed"] % networks
    else:
        first, second = immediate["seed"] % 2 == 0, immediate["seed"] % 2 == 1
        number = immediate["seed"] // 2
    immediate = immediate.assign(seed=number)
    again = planted(immediate[first].assign(learner=worlds.AGAIN), control.planted)
    return reselected(pd.concat([again, immediate[second]], ignore_index=True))


def planted(models: pd.DataFrame, gap: float) -> pd.DataFrame:
    """Models whose error that is judged is lower by `gap`; rates are chosen as before."""
    spread = models["frozen_heldout_error"] - models["reference_error"]
    estimand = worlds.ESTIMAND
    return models.assign(
        **{
            estimand.recovery: models[estimand.recovery] + 100 * gap / spread,
            estimand.error: models[estimand.error] - gap,
        }
    )


def _registered(
    name: str, control: Control, full: str, pairs: int, networks: int, alpha: float
) -> Registration:
    """The control's registration."""
    minus = (full, worlds.IMMEDIATE)
    [(kind, value)] = control.claim.items()
    return Registration(
        name=name,
        folder=Path(),
        title=control.means,
        studies=(_COMPARISON,),
        primary=True,
        task=name,
        pair="",
        estimand=worlds.ESTIMAND_NAME,
        unit=PAIR,
        pairs=pairs,
        seeds=networks,
        conditions={
            "architecture": worlds.NETWORK["kind"],
            "optimizer": worlds.OPTIMIZER,
            "precision": "float64",
            "split": "shift",
        },
        comparison=_COMPARISON,
        minus=minus,
        rule=rules()[kind](float(value)),
        scale=VARIANCE.unit,
        alpha=alpha,
        binds={"record_sha256": "none"},
        max_diverged=2,
        max_failing=pairs // 2,
        checks=(),
        outcomes=dict.fromkeys(_OUTCOMES, "As it is."),
        must_recover=minus,
    )


def _row(name: str, control: Control, judged: pd.DataFrame) -> dict[str, object]:
    [(kind, value)] = control.claim.items()
    said = {"world": name, "means": control.means, "claim": f"{kind} {value:g}"}
    said["true_gap"] = np.nan if control.planted is None else control.planted
    return said | counted(judged, control.right, control.wrong)


def counted(
    judged: pd.DataFrame, right: Collection[str], wrong: Collection[str]
) -> dict[str, object]:
    """How many studies got which verdict, the wrong share, and means over studies.

    Args:
        judged: One row a study, from `verdicts`.
        right, wrong: The outcomes that are so; the rest is undecided.
    """
    counts = judged["outcome"].value_counts()
    n, each = len(judged), dict.fromkeys(_OUTCOMES, 0) | counts.to_dict()
    answers = [sum(each[outcome] for outcome in outcomes) for outcomes in (right, wrong)]
    share = stats.binomtest(answers[1], n).proportion_ci(0.95)
    return {
        "studies": n,
        **each,
        **dict(zip(("right", "wrong"), answers, strict=True)),
        "undecided": n - sum(answers),
        "wrong_share": answers[1] / n,
        "wrong_low": share.low,
        "wrong_high": share.high,
        "gap": judged["gap"].mean(),
        "between_sd": judged["between_sd"].mean(),
    }
