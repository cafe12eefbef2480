from functools import cache

import numpy as np
import pytest

from orla.sessions.simulator.reaches import _reach, simulate_reaching
from orla.sessions.simulator.settings import TaskSettings


def rng(seed=0):
    return np.random.default_rng(seed)


@cache
def reaching(seconds=300.0):
    return simulate_reaching(TaskSettings(), seconds, rng(1))


def test_targets_are_points_of_the_grid_and_never_repeat():
    behavior = reaching()
    spacing = TaskSettings().grid_spacing_mm
    places = behavior.target_mm / spacing + 3.5
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    assert places.min() >= 0 and places.max() <= 7
    changes = np.flatnonzero(np.any(np.diff(behavior.target_mm, axis=0) != 0, axis=1))
    # One more target is on the screen when the time is up.
    assert len(changes) == behavior.reaches


def test_the_cursor_is_on_the_target_when_the_next_appears():
    behavior, task = reaching(), TaskSettings()
    ends = np.flatnonzero(np.any(np.diff(behavior.target_mm, axis=0) != 0, axis=1))
    miss = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends], axis=1)
    assert miss.max() < task.acceptance_mm + 5 * task.tremor_mm
    starts = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends + 1], axis=1)
    assert np.median(starts) > 30


def test_a_reach_without_noise_is_minimum_jerk():
    task = TaskSettings(curvature=0.0, movement_spread=0.0)
    path = _reach(np.zeros(2), np.array([60.0, 80.0]), task, rng())
    duration = task.movement_s + 100 * task.movement_s_per_mm
    assert len(path) == round(duration * 250)
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1) * 250
    # Flash and Hogan: the peak is 15/8 of the mean speed, in the middle.
    assert speed.max() == pytest.approx(1.875 * 100 / duration, rel=0.01)
    assert abs(speed.argmax() - len(speed) / 2) < 2
    np.testing.assert_allclose(path[-1], [60.0, 80.0])


def test_curvature_bends_the_reach_sideways():
    task = TaskSettings(curvature=0.1)
    bends = [
        np.abs(_reach(np.zeros(2), np.array([100.0, 0.0]), task, rng(s))[:, 1]).max()
        for s in range(200)
    ]
    assert np.std(bends + [-b for b in bends]) == pytest.approx(10.0, rel=0.15)


def test_finger_is_the_cursor_in_centimetres_with_its_signs():
    behavior = reaching(20.0)
    np.testing.assert_allclose(behavior.finger_cm[:, 1:], -behavior.cursor_mm / 10)
