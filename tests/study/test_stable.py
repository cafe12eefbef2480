"""Scores over weights frozen after each of the last windows, by plain loops."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from drifting import ADAPT, GRID, HELDOUT, SEEDS, WINDOW, by_hand, mse, table

from orla.results import base
from orla.results.base import Settings
from orla.study import rates, stable

R2 = ["stable_r2_x", "stable_r2_y", "stable_r2_mean", "stable_r2_weighted"]
COLUMNS = ["heldout_stable_error", "recovery_stable_percent", *R2]


def test_the_last_windows_are_whole_and_there_may_be_fewer():
    assert stable.last_window_ends(100, 20, 3) == [60, 80, 100] and stable.last_window_ends(
        100, 20, 1
    ) == [100]
    assert stable.last_window_ends(40, 20, 10) == [20, 40] and stable.last_window_ends(
        115, 20, 2
    ) == [80, 100]


def r2(outputs, Y):
    residual, total = ((outputs - Y) ** 2).sum(0), ((Y - Y.mean(0)) ** 2).sum(0)
    each = 1 - residual / total
    return [*each, each.mean(), 1 - residual.sum() / total.sum()]


def test_stable_scores_are_means_over_the_last_frozen_windows(study, swept):
    models, Y = swept.wide_tables["models"], study.episode.whole.Y[HELDOUT]
    [rate] = models.loc[models.selected, "learning_rate"].unique()
    for row in models[models.selected].itertuples():
        runs = [by_hand(study, row.seed, rate, ADAPT - back * WINDOW)[HELDOUT] for back in range(3)]
        heldout = np.mean([mse(run, Y, ...) for run in runs])
        assert row.heldout_stable_error == pytest.approx(heldout, rel=1e-9)
        scores = np.mean([r2(run, Y) for run in runs], axis=0)
        assert [getattr(row, name) for name in R2] == pytest.approx(list(scores), rel=1e-6)
        frozen, reference = row.frozen_heldout_error, row.reference_error
        recovery = 100 * (frozen - heldout) / (frozen - reference)
        assert row.recovery_stable_percent == pytest.approx(recovery, rel=1e-6)


def test_one_window_is_the_frozen_instant_itself_and_more_are_not(study, swept):
    one, three = table("models", study, GRID, growth=1), swept.wide_tables["models"]
    chosen = one[one.selected]
    for column in R2:
        assert (chosen[column] == chosen[column.removeprefix("stable_")]).all()
    assert (chosen.heldout_stable_error == chosen.heldout_error).all()
    assert (chosen.recovery_stable_percent == chosen.recovery_heldout_percent).all()
    both = three.heldout_stable_error.notna()
    for column in COLUMNS:
        assert (one[column] != three[column])[both].all() and both.sum() >= SEEDS, column
    kept = [c for c in one if "stable" not in c]
    assert one[kept].equals(three[kept]), "windows and horizons touch no other column"


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2e6])
def test_one_window_that_fails_leaves_no_mean(bad):
    """Each of them is a score of the same model; its other scores stay as the loss gives them."""

    def frozen_scores(params, state, whole, part, since):
        errors = np.array([1.0, bad if since == 20 else 3.0])
        return errors, {"r2_mean": errors / 10}

    fake = SimpleNamespace(frozen_scores=frozen_scores)
    frozen = dict.fromkeys((20, 40, 60), (None, None))
    known = {60: (np.array([4.0, 5.0]), {"r2_mean": np.array([0.4, 0.5])})}
    error, more = stable.mean_frozen_scores(fake, frozen, {}, slice(60, 80), known)
    assert error[0] == 2.0 and np.isnan(error[1])
    assert more["r2_mean"][0] == pytest.approx(0.2)


def scored_rates(rows):
    return {*rows.learning_rate[rows.heldout_stable_error.notna()]}


@pytest.mark.parametrize("for_resamples", [False, True])
def test_heldout_windows_are_scored_only_at_rates_that_statistics_may_choose(
    study, monkeypatch, for_resamples
):
    """At the chosen rate and its runners-up, or those of every resample, as at all rates."""
    options = {"growth": 2, "stable_windows": 2, "for_resamples": for_resamples}
    rows = table("models", study, GRID, **options)
    monkeypatch.setattr(rates, "undominated_rates", sorted)
    everywhere = table("models", study, GRID, **options | {"for_resamples": True})
    scored = rows["heldout_stable_error"].notna()
    assert rows.drop(columns=COLUMNS).equals(everywhere.drop(columns=COLUMNS))
    assert rows.loc[scored, COLUMNS].equals(everywhere.loc[scored, COLUMNS])
    assert everywhere[COLUMNS].notna().all(axis=None) and 0 < scored.sum() < len(rows)
    assert {*rows.learning_rate[rows.selected]} <= scored_rates(rows)
    errors = rows.pivot(index="seed", columns="learning_rate", values="validation_rolling_error")
    for seeds in ([0], [1], [0, 1]) if for_resamples else ():
        assert errors.loc[seeds].mean().idxmin() in scored_rates(rows)
    keys = dict.fromkeys(("task", "pair", "intervention", "start"), "x")
    pair = {"comparison": {"minus": ["full", "immediate"], "label": ""}}
    settings = Settings.from_config({"margin_pp": 3.0, "main": "comparison"}, pair)

    def estimates(models):
        models = models.assign(**keys)
        other = models.assign(learner="full", heldout_error=models.heldout_error + 0.01)
        both = pd.concat([models, other], ignore_index=True)
        return base.build("estimates", {"models": both}, settings)

    assert estimates(rows).equals(estimates(everywhere))
    assert len(estimates(rows)) == 3
