"""Verdicts on made-up studies, by the statistics and the judge of every study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from orla.prereg import judge
from orla.prereg.registration import PAIR, Registration
from orla.prereg.rules.base import rules
from orla.results import base
from orla.truth import worlds
from orla.truth.studies import reselected
from orla.truth.worlds import Control

COLUMNS = {
    "world": "Name of the control.",
    "means": "What it is made of.",
    "true_gap_pp": "Gap that was planted (pp); null where learners differ.",
    "claim": "What was claimed.",
    "studies": "Made-up studies.",
    **{o: "Studies with this verdict." for o in ("supported", "falsified", "inconclusive")},
    "untestable": "Studies with this verdict.",
    "right": "Studies whose verdict is right.",
    "wrong": "Studies whose verdict is wrong.",
    "undecided": "All other studies.",
    "wrong_share": "Share of wrong verdicts.",
    "wrong_low": "Lower end of its 95 % Clopper-Pearson interval.",
    "wrong_high": "Upper end of that interval.",
    "gap_pp": "Mean over studies of the estimated gap (pp).",
    "between_sd_pp": "Mean over studies of the standard deviation between pairs (pp).",
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
    """One row a study: `outcome`, `reason`, `gap_pp` and `between_sd_pp`."""
    full = worlds.FULL if control.planted_pp is None else worlds.AGAIN
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
                "gap_pp": row["gap_pp"],
                "between_sd_pp": row["between_sd_pp"],
            }
        )
    return pd.DataFrame(rows)


def sides(control: Control, models: pd.DataFrame, networks: int) -> pd.DataFrame:
    """The models of the control's two learners, rates chosen, with the planted gap."""
    immediate = models[models["learner"] == worlds.IMMEDIATE]
    if control.planted_pp is None:
        own = models[models["seed"] < networks]
        return reselected(own)
    if control.halves:
        first, second = immediate["seed"] < networks, immediate["seed"] >= networks
        number = immediate["seed"] % networks
    else:
        first, second = immediate["seed"] % 2 == 0, immediate["seed"] % 2 == 1
        number = immediate["seed"] // 2
    immediate = immediate.assign(seed=number)
    again = planted(immediate[first].assign(learner=worlds.AGAIN), control.planted_pp)
    return reselected(pd.concat([again, immediate[second]], ignore_index=True))


def planted(models: pd.DataFrame, gap_pp: float) -> pd.DataFrame:
    """Models that recover `gap_pp` more of what is judged; rates are chosen as before."""
    spread = models["frozen_heldout_error"] - models["reference_error"]
    estimand = worlds.ESTIMAND
    return models.assign(
        **{
            estimand.recovery: models[estimand.recovery] + gap_pp,
            estimand.error: models[estimand.error] - gap_pp / 100 * spread,
        }
    )


def _registered(
    name: str, control: Control, full: str, pairs: int, networks: int, alpha: float
) -> Registration:
    """The control's registration."""
    minus = (full, worlds.IMMEDIATE)
    [(kind, value)] = control.claim.items()
    outcomes = ("supported", "falsified", "inconclusive", "untestable")
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
        alpha=alpha,
        binds={"config_sha256": "none", "code_sha256": "none"},
        max_diverged=2,
        max_failing=pairs // 2,
        checks=(),
        outcomes=dict.fromkeys(outcomes, "As it is."),
        must_recover=minus,
    )


def _row(name: str, control: Control, judged: pd.DataFrame) -> dict[str, object]:
    counts = judged["outcome"].value_counts()
    n = len(judged)
    right, wrong = (
        int(sum(counts.get(o, 0) for o in outcomes)) for outcomes in (control.right, control.wrong)
    )
    share = stats.binomtest(wrong, n).proportion_ci(0.95)
    [(kind, value)] = control.claim.items()
    return {
        "world": name,
        "means": control.means,
        "true_gap_pp": np.nan if control.planted_pp is None else control.planted_pp,
        "claim": f"{kind} {value:g}",
        "studies": n,
        **{o: int(counts.get(o, 0)) for o in ("supported", "falsified", "inconclusive")},
        "untestable": int(counts.get("untestable", 0)),
        "right": right,
        "wrong": wrong,
        "undecided": n - right - wrong,
        "wrong_share": wrong / n,
        "wrong_low": share.low,
        "wrong_high": share.high,
        "gap_pp": judged["gap_pp"].mean(),
        "between_sd_pp": judged["between_sd_pp"].mean(),
    }
