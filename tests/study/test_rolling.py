"""Rolling-origin validation, and held-out scores after a shorter adaptation at its own rate."""

from dataclasses import replace

import numpy as np
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
    on,
    table,
)
from drifting import rolling as validated_by_hand

from orla.errors import OrlaError
from orla.study import rolling, sweep
from orla.tasks.stream import Stream


@pytest.mark.parametrize(
    "windows, expected",
    [
        (2, [(1, 2)]),
        (3, [(2, 3)]),
        (5, [(3, 5), (4, 5)]),
        (10, [(6, 9), (7, 10), (8, 10), (9, 10)]),
    ],
)
def test_each_origin_after_the_middle_is_followed_by_up_to_three_windows(study, windows, expected):
    parts = rolling.rolling_origin_spans(study.episode, windows * WINDOW)
    assert [(p.start // WINDOW, p.stop // WINDOW) for p in parts] == expected
    longer = rolling.rolling_origin_spans(study.episode, windows * WINDOW + WINDOW - 1)
    assert longer == parts, "steps that fill no window count for nothing"


def test_an_origin_without_a_scored_step_after_it_is_left_out(study):
    whole, scored = study.episode.whole, np.ones(STEPS, bool)
    scored[7 * WINDOW : ADAPT] = False
    episode = make_episode(Stream(whole.X, whole.Y, scored), selection_cut=5 * WINDOW)
    assert [p.start // WINDOW for p in rolling.rolling_origin_spans(episode, ADAPT)] == [6]
    scored[5 * WINDOW + 1 : ADAPT] = False
    with pytest.raises(OrlaError, match="no step after the middle"):
        rolling.rolling_origin_spans(episode, ADAPT)


def test_rolling_validation_of_a_part_of_one_window_is_refused(study):
    with pytest.raises(OrlaError, match="20 steps are 1 windows of 20"):
        rolling.rolling_origin_spans(study.episode, WINDOW)


def test_a_rate_may_be_chosen_by_the_first_steps_alone(study, swept):
    few = replace(study, episode=replace(study.episode, rate_selection_steps=5 * WINDOW))
    before = table("models", few, [0.03])[rolling.ERROR]
    models = swept.wide_tables["models"]
    assert (before != models[models.learning_rate == 0.03][rolling.ERROR].to_numpy()).all()
    for window, sees in ((4, True), (5, False)):
        part = slice(window * WINDOW, (window + 1) * WINDOW)
        moved = table("models", changed(few, part), [0.03])[rolling.ERROR]
        assert (moved != before).all() if sees else moved.equals(before), window


def validated(study, rate, horizon):
    """Errors (seeds,) of rolling-origin validation within the horizon."""
    return [validated_by_hand(study, seed, rate, horizon) for seed in range(SEEDS)]


def test_horizons_by_hand(study, swept):
    frame, models = swept.wide_tables["horizon"], swept.wide_tables["models"]
    assert list(frame.seed) == [0] * 4 + [1] * 4
    assert list(frame.horizon_steps) == [40, 100, 120, 200] * 2
    Y, reference = study.episode.whole.Y, models.set_index("seed").reference_error
    for row in frame.itertuples():
        before = mse(by_hand(study, row.seed, row.learning_rate, 0), Y, HELDOUT)
        after = mse(by_hand(study, row.seed, row.learning_rate, row.horizon_steps), Y, HELDOUT)
        recovery = 100 * (before - after) / (before - reference[row.seed].iloc[0])
        assert row.recovery_heldout_percent == pytest.approx(recovery, rel=1e-6)
        expected = validated(study, row.learning_rate, row.horizon_steps)[row.seed]
        assert row.validation_rolling_error == pytest.approx(expected, rel=1e-9)
    last, chosen = frame[frame.horizon_steps == ADAPT], models[models.selected].sort_values("seed")
    for column in ("learning_rate", "validation_rolling_error", "edge"):
        assert list(last[column]) == list(chosen[column]), "the last is the sweep's own"
    recovery = chosen.recovery_heldout_percent
    np.testing.assert_allclose(last.recovery_heldout_percent, recovery, rtol=1e-9)


def test_the_rate_is_chosen_within_the_horizon(study):
    """A short horizon wants a larger rate than the whole part, whose noise a small rate bears."""
    noise = np.random.default_rng(0).normal(scale=3.0, size=(ADAPT - 60, 2))
    noisy = changed(study, slice(60, ADAPT), noise)
    grid = [0.003, 0.01, 0.03]
    result = sweep.sweep(noisy, grid, growth=0, horizons=[40, 200], stable_windows=1)
    frame, models = result.wide_tables["horizon"], result.wide_tables["models"]
    chosen = frame.groupby("horizon_steps").learning_rate.unique()
    for horizon in (40, 200):
        means = {rate: np.mean(validated(noisy, rate, horizon)) for rate in grid}
        assert chosen[horizon].tolist() == [min(means, key=means.get)]
    assert chosen[200][0] == models[models.selected].learning_rate.iloc[0] < chosen[40][0]
    short = frame.horizon_steps == 40
    assert chosen[40][0] == grid[-1] and frame[short].edge.all()
    assert chosen[200][0] == grid[1] and not frame[~short].edge.any()


def test_the_choice_never_sees_what_lies_behind_the_horizon(study, swept):
    columns = ["learning_rate", "validation_rolling_error", "edge"]
    ours = swept.wide_tables["horizon"].query("horizon_steps == 100").reset_index(drop=True)
    behind, within = (
        table("horizon", changed(study, part), GRID, growth=1, horizons=[100])
        for part in (slice(100, STEPS), slice(60, 100))
    )
    assert ours[columns].equals(behind[columns])
    assert (ours.recovery_heldout_percent != behind.recovery_heldout_percent).all()
    assert (ours.validation_rolling_error != within.validation_rolling_error).all()


def test_a_horizon_before_the_divergence_is_kept(study):
    late = changed(study, slice(100, ADAPT), 1e5)
    frame = table("horizon", late, [0.03], horizons=[80, 200])
    missing = frame.recovery_heldout_percent.isna()
    assert (missing == (frame.horizon_steps == 200)).all()


@pytest.mark.parametrize("horizon", [0, 20, 50, 220])
def test_a_horizon_that_does_not_fit_is_refused_before_anything_runs(study, horizon, monkeypatch):
    monkeypatch.setattr(sweep, "_adapt_and_measure", None)
    with pytest.raises(OrlaError, match=rf"horizons\.steps has {horizon}; choose multiples of"):
        sweep.sweep(study, [0.03], growth=0, horizons=[40, horizon])


def test_a_horizon_without_a_scored_step_to_choose_by_is_refused(study):
    whole, scored = study.episode.whole, np.ones(STEPS, bool)
    scored[60:100] = False
    other = on(study, Stream(whole.X, whole.Y, scored))
    with pytest.raises(OrlaError, match=r"has 100 \(50-50\): no step after the middle of 100 is"):
        sweep.sweep(other, [0.03], growth=0, horizons=[100])
    assert len(table("horizon", other, [0.03], horizons=[120])) == SEEDS
