"""Scores over weights frozen after each of the last windows, by plain loops."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from drifting import (
    ADAPT,
    GRID,
    HELDOUT,
    SEEDS,
    STEPS,
    WINDOW,
    by_hand,
    changed,
    make_episode,
    mse,
    table,
)

from orla.results import base
from orla.results.base import Settings
from orla.study import rates, stable, sweep
from orla.tasks.stream import Stream

COLUMNS = ["heldout_stable_error", "recovery_stable_percent"]
R2 = ["stable_r2_x", "stable_r2_y", "stable_r2_mean", "stable_r2_weighted"]


@pytest.mark.parametrize(
    "stop, windows, expected",
    [
        (100, 3, [60, 80, 100]),
        (100, 1, [100]),
        (100, 5, [20, 40, 60, 80, 100]),
        (40, 10, [20, 40]),
        (115, 2, [80, 100]),
    ],
)
def test_the_last_windows_are_whole_and_there_may_be_fewer(stop, windows, expected):
    assert stable.ends(stop, 20, windows) == expected


def r2(outputs, Y):
    residual, total = ((outputs - Y) ** 2).sum(0), ((Y - Y.mean(0)) ** 2).sum(0)
    each = 1 - residual / total
    return [each[0], each[-1], each.mean(), 1 - residual.sum() / total.sum()]


@pytest.fixture(scope="module")
def runs(study):
    """Outputs at the rate 0.03, by seed and the step at which weights are frozen."""
    stops = range(WINDOW, ADAPT + 1, WINDOW)
    return [{stop: by_hand(study, seed, 0.03, stop) for stop in stops} for seed in range(SEEDS)]


@pytest.mark.parametrize("windows", [1, 3, 10])
def test_stable_scores_by_hand(study, runs, windows):
    """Ten windows fit into the adapt part."""
    rate, Y = 0.03, study.episode.whole.Y
    rows = table("models", study, [rate], stable_windows=windows)
    for row in rows.itertuples():
        own = runs[row.seed]
        until = list(own)[-windows:]
        heldout = np.mean([mse(own[s], Y, HELDOUT) for s in until])
        scores = np.mean([r2(own[s][HELDOUT], Y[HELDOUT]) for s in until], axis=0)
        assert row.heldout_stable_error == pytest.approx(heldout, rel=1e-9)
        assert [getattr(row, name) for name in R2] == pytest.approx(list(scores), rel=1e-6)
        frozen, reference = row.frozen_heldout_error, row.reference_error
        recovery = 100 * (frozen - heldout) / (frozen - reference)
        assert row.recovery_stable_percent == pytest.approx(recovery, rel=1e-6)


def test_one_window_is_the_frozen_instant_itself_and_more_are_not(study, swept):
    one = table("models", study, GRID, growth=1, stable_windows=1)
    chosen = one[one.selected]
    for column in R2:
        assert (chosen[column] == chosen[column.removeprefix("stable_")]).all()
    assert (chosen.heldout_stable_error == chosen.heldout_error).all()
    assert (chosen.recovery_stable_percent == chosen.recovery_heldout_percent).all()
    ten = swept.frames["models"]
    both = ten.heldout_stable_error.notna()
    for column in (*COLUMNS, *R2):
        assert (one[column] != ten[column])[both].all() and both.sum() >= SEEDS, column
    kept = [c for c in one if "stable" not in c]
    assert one[kept].equals(ten[kept]), "the windows touch no other column"


def test_more_windows_than_there_are_change_nothing(study, swept):
    more = sweep.sweep(study, GRID, growth=1, stable_windows=99)
    assert more.frames["models"].equals(swept.frames["models"])


def test_streams_of_ones_own_with_unscored_steps_and_trials(study):
    whole, rng = study.episode.whole, np.random.default_rng(5)
    X, Y = (np.stack([a, a[::-1]]) for a in (whole.X, whole.Y))
    scored, starts = rng.random((SEEDS, STEPS)) < 0.8, rng.random((SEEDS, STEPS)) < 0.05
    other = dataclasses.replace(study, episode=make_episode(Stream(X, Y, scored, starts)))
    rows = table("models", other, [0.03], stable_windows=3)
    for row in rows.itertuples():
        own = Stream(*(np.ascontiguousarray(a[row.seed]) for a in (X, Y, scored, starts)))

        def mean(stops, part, own=own, seed=row.seed):
            counted = own.scored[part]
            runs = [by_hand(study, seed, 0.03, stop, own) for stop in stops]
            return np.mean([mse(run[part][counted], own.Y[part][counted], ...) for run in runs])

        assert row.heldout_stable_error == pytest.approx(mean([160, 180, 200], HELDOUT), rel=1e-9)
        origins = range(6, 10)
        parts = [slice(k * WINDOW, min(k + 3, 10) * WINDOW) for k in origins]
        each = [mean([k * WINDOW], part) for k, part in zip(origins, parts, strict=True)]
        assert row.validation_rolling_error == pytest.approx(np.mean(each), rel=1e-9)
        held = own.Y[HELDOUT][own.scored[HELDOUT]]
        assert row.constant_error == pytest.approx(held.var(0).mean(), rel=1e-12)
    assert rows[[COLUMNS[0], "constant_error"]].nunique().eq(SEEDS).all()


def test_a_condition_takes_the_first_of_more_streams_than_it_has_seeds(study):
    whole = study.episode.whole
    X, Y = (np.stack([a, a[::-1], 2.0 * a]) for a in (whole.X, whole.Y))
    more = dataclasses.replace(study, episode=make_episode(Stream(X, Y)))
    as_many = dataclasses.replace(study, episode=make_episode(Stream(X[:SEEDS], Y[:SEEDS])))
    rows, expected = (table("models", s, [0.03]) for s in (more, as_many))
    pd.testing.assert_frame_equal(rows, expected)


def test_a_diverged_model_has_no_stable_scores(study):
    grid = [0.1, 0.3, 1.0, 3.0, 10.0]
    rows = table("models", study, grid)
    lost = rows[rows.diverged]
    assert len(lost) and lost[["heldout_stable_error", "recovery_stable_percent", *R2]].isna().all(
        axis=None
    )
    kept = rows[rows.selected]
    assert np.isfinite(kept[[*COLUMNS, *R2]]).all(axis=None) and not kept.diverged.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2e6])
def test_one_window_that_fails_leaves_no_mean(bad):
    """Each of them is a score of the same model; its other scores stay as the loss gives them."""

    def frozen_scores(params, state, whole, part, since):
        errors = np.array([1.0, bad if since == 20 else 3.0])
        return errors, {"r2_mean": errors / 10}

    fake = SimpleNamespace(frozen_scores=frozen_scores)
    frozen = dict.fromkeys((20, 40, 60), (None, None))
    known = {60: (np.array([4.0, 5.0]), {"r2_mean": np.array([0.4, 0.5])})}
    error, more = stable.means(fake, frozen, {}, slice(60, 80), known)
    assert error[0] == 2.0 and np.isnan(error[1])
    assert more["r2_mean"][0] == pytest.approx(0.2)


def test_the_constant_error_is_the_variance_of_the_heldout_targets(study, swept):
    Y = study.episode.whole.Y
    constant = swept.frames["models"].constant_error
    assert constant.to_numpy() == pytest.approx(Y[HELDOUT].var(0).mean(), rel=1e-12)
    assert constant.iloc[0] != pytest.approx(Y[:ADAPT].var(0).mean(), rel=1e-3)
    moved = table("models", changed(study, HELDOUT, 3.0), [0.03])
    assert moved.constant_error.iloc[0] == pytest.approx(constant.iloc[0], rel=1e-9)


@pytest.fixture(scope="module")
def everywhere(study):
    """The sweep with held-out windows scored at every rate."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rates, "dominated_rates", lambda scores: set())
        return table("models", study, GRID, growth=2)


def test_heldout_windows_are_scored_where_some_resample_may_choose_the_rate(study, everywhere):
    """Every resample of two seeds, against the scores of all rates."""
    rows = table("models", study, GRID, growth=2)
    names = ["heldout_stable_error", "recovery_stable_percent", *R2]
    scored = rows["heldout_stable_error"].notna()
    assert rows.drop(columns=names).equals(everywhere.drop(columns=names))
    assert rows.loc[scored, names].equals(everywhere.loc[scored, names])
    assert everywhere[names].notna().all(axis=None) and 0 < scored.sum() < len(rows)
    errors = rows.pivot(index="seed", columns="learning_rate", values="validation_rolling_error")
    for seeds in ([0], [1], [0, 1]):
        best = errors.loc[seeds].mean().idxmin()
        assert scored[rows.learning_rate == best].all()


def test_intervals_do_not_depend_on_the_rates_that_were_scored(study, everywhere):
    few = table("models", study, GRID, growth=2)
    keys = dict.fromkeys(("task", "pair", "intervention", "start"), "x")
    pair = {"comparison": {"minus": ["full", "immediate"], "label": ""}}
    settings = Settings.of({"margin_pp": 3.0, "resamples": 500, "main": "comparison"}, pair)

    def estimates(models):
        models = models.assign(**keys)
        other = models.assign(learner="full", heldout_error=models.heldout_error + 0.01)
        both = pd.concat([models, other], ignore_index=True)
        return base.build("estimates", {"models": both}, settings)

    assert estimates(few).equals(estimates(everywhere))
    assert len(estimates(few)) == 3 and estimates(few)["resampled_low_pp"].notna().all()
