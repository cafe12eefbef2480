"""The error over the last tenth of the adapt part, by plain loops."""

import dataclasses

import numpy as np
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
    table,
)

from orla.tasks.stream import Stream

LAST = slice(ADAPT - ADAPT // 10, ADAPT)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_it_is_the_mean_while_learning_by_hand(study, swept, seed):
    models = swept.frames["models"]
    Y = study.episode.whole.Y
    for rate in GRID:
        row = models[(models.seed == seed) & (models.learning_rate == rate)].iloc[0]
        outputs = by_hand(study, seed, rate, ADAPT)
        assert row.last_adapt_error == pytest.approx(mse(outputs, Y, LAST), rel=1e-9)
        longer = mse(outputs, Y, slice(LAST.start - 1, ADAPT))
        assert row.last_adapt_error != pytest.approx(longer, rel=1e-6)


def test_it_reads_no_step_before_or_after_it(study, swept):
    models = swept.frames["models"]
    errors = models[models.learning_rate == 0.03].last_adapt_error.to_numpy()
    for part, blind in ((HELDOUT, True), (LAST, False)):
        found = table("models", changed(study, part), [0.03]).last_adapt_error.to_numpy()
        np.testing.assert_array_equal(np.isclose(found, errors, rtol=1e-9), blind)


def test_steps_that_are_not_scored_do_not_count(study):
    whole, scored = study.episode.whole, np.ones(STEPS, bool)
    scored[LAST.start : LAST.start + 7] = False
    masked = dataclasses.replace(
        study, episode=make_episode(Stream(whole.X, whole.Y, scored), reference=None)
    )
    models = table("models", masked, [0.03])
    outputs = by_hand(masked, 0, 0.03, ADAPT)
    wanted = mse(outputs, whole.Y, slice(LAST.start + 7, ADAPT))
    assert models[models.seed == 0].last_adapt_error.item() == pytest.approx(wanted, rel=1e-9)
    scored[LAST] = False
    masked = dataclasses.replace(
        study, episode=make_episode(Stream(whole.X, whole.Y, scored), reference=None)
    )
    assert table("models", masked, [0.03]).last_adapt_error.isna().all()


def test_a_model_that_diverged_has_none(study):
    models = table("models", study, [1e3])
    assert models.diverged.all() and models.last_adapt_error.isna().all()
