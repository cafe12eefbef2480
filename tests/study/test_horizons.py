"""Held-out scores after a shorter adaptation, at a rate chosen within it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from drifting import (
    ADAPT,
    GRID,
    HELDOUT,
    SEEDS,
    STEPS,
    by_hand,
    changed,
    make_episode,
    mse,
    rolling,
    table,
)

from orla.errors import OrlaError
from orla.study import sweep
from orla.tasks.stream import Stream

HORIZONS = [40, 100, 120, 200]


def validated(study, rate, horizon):
    """Errors (seeds,) of rolling-origin validation within the horizon."""
    return [rolling(study, seed, rate, horizon) for seed in range(SEEDS)]


def test_horizons_by_hand(study):
    frame = table("horizon", study, [0.03], horizons=HORIZONS)
    assert list(frame.seed) == [0] * 4 + [1] * 4
    assert list(frame.horizon_steps) == HORIZONS * 2
    assert (frame.learning_rate == 0.03).all() and frame.edge.all()
    Y, reference = study.episode.whole.Y, study.baseline["reference_error"]
    for row in frame.itertuples():
        before = mse(by_hand(study, row.seed, 0.03, 0), Y, HELDOUT)
        after = mse(by_hand(study, row.seed, 0.03, row.horizon_steps), Y, HELDOUT)
        recovery = 100 * (before - after) / (before - reference[row.seed])
        assert row.recovery_heldout_percent == pytest.approx(recovery, rel=1e-6)
        expected = validated(study, 0.03, row.horizon_steps)[row.seed]
        assert row.validation_rolling_error == pytest.approx(expected, rel=1e-9)


def test_the_rate_is_chosen_within_the_horizon(study):
    """A short horizon wants a larger rate than the whole part, whose noise a small rate bears."""
    noise = np.random.default_rng(0).normal(scale=3.0, size=(ADAPT - 60, 2))
    noisy = changed(study, slice(60, ADAPT), noise)
    grid = [0.003, 0.01, 0.03]
    result = sweep.sweep(noisy, grid, growth=0, horizons=[40, 200])
    chosen = result.frames["horizon"].groupby("horizon_steps").learning_rate.unique()
    for horizon in (40, 200):
        means = {rate: np.mean(validated(noisy, rate, horizon)) for rate in grid}
        assert chosen[horizon].tolist() == [min(means, key=means.get)]
    final = result.frames["models"][result.frames["models"].selected].learning_rate.iloc[0]
    assert chosen[200][0] == final < chosen[40][0]
    short = result.frames["horizon"][result.frames["horizon"].horizon_steps == 40]
    errors = validated(noisy, chosen[40][0], 40)
    np.testing.assert_allclose(short.validation_rolling_error, errors, rtol=1e-9)
    assert chosen[40][0] == grid[-1] and short.edge.all()
    assert chosen[200][0] == grid[1] and not result.frames["horizon"].drop(short.index).edge.any()


def test_the_choice_never_sees_what_lies_behind_the_horizon(study):
    columns = ["learning_rate", "validation_rolling_error", "edge"]
    [ours, behind, within] = [
        table("horizon", s, GRID, horizons=[100])
        for s in (study, changed(study, slice(100, STEPS)), changed(study, slice(60, 100)))
    ]
    assert ours[columns].equals(behind[columns])
    assert (ours.recovery_heldout_percent != behind.recovery_heldout_percent).all()
    assert (ours.validation_rolling_error != within.validation_rolling_error).all()


def test_the_last_horizon_is_the_sweeps_own_figure(study, swept):
    models = swept.frames["models"]
    again = sweep.sweep(study, GRID, growth=1, horizons=[200])
    pd.testing.assert_frame_equal(again.frames["models"], models)
    frame = again.frames["horizon"]
    rows = models[models.selected].sort_values("seed")
    for column in ("learning_rate", "validation_rolling_error", "edge"):
        assert list(frame[column]) == list(rows[column])
    np.testing.assert_allclose(
        frame.recovery_heldout_percent, rows.recovery_heldout_percent, rtol=1e-9
    )


def test_a_horizon_before_the_divergence_is_kept(study):
    late = changed(study, slice(100, ADAPT), 1e5)
    frame = table("horizon", late, [0.03], horizons=[80, 200])
    missing = frame.recovery_heldout_percent.isna()
    assert (missing == (frame.horizon_steps == 200)).all()


def test_a_diverged_rate_loses_at_its_horizon(study):
    frame = table("horizon", study, [0.03, 0.1, 0.3, 1.0, 3.0, 10.0], horizons=[100])
    assert (frame.learning_rate < 3.0).all() and np.isfinite(frame.validation_rolling_error).all()
    lost = table("horizon", study, [300.0, 1000.0], horizons=[100])
    assert (lost.learning_rate == 300.0).all() and lost.edge.all()
    assert lost[["recovery_heldout_percent", "validation_rolling_error"]].isna().all(axis=None)


@pytest.mark.parametrize("horizon", [0, 20, 50, 220])
def test_a_horizon_that_does_not_fit_is_refused_before_anything_runs(study, horizon, monkeypatch):
    monkeypatch.setattr(sweep, "_measure", None)
    with pytest.raises(OrlaError, match=rf"horizons\.steps has {horizon}; choose multiples of"):
        sweep.sweep(study, [0.03], growth=0, horizons=[40, horizon])


def test_a_horizon_without_a_scored_step_to_choose_by_is_refused(study):
    whole = study.episode.whole
    scored = np.ones(STEPS, bool)
    scored[60:100] = False
    episode = make_episode(Stream(whole.X, whole.Y, scored))
    other = dataclasses.replace(study, episode=episode)
    with pytest.raises(OrlaError, match="no step after the middle of 100 is scored"):
        sweep.sweep(other, [0.03], growth=0, horizons=[100])
    assert len(table("horizon", other, [0.03], horizons=[120])) == SEEDS
