"""Where rolling-origin validation freezes and what it scores."""

from dataclasses import replace

import numpy as np
import pytest
from drifting import ADAPT, STEPS, WINDOW, changed, make_episode, table

from orla.errors import OrlaError
from orla.study import rolling
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
def test_origins_and_what_follows_them(study, windows, expected):
    parts = rolling.parts(study.episode, windows * WINDOW)
    assert [(p.start // WINDOW, p.stop // WINDOW) for p in parts] == expected
    longer = rolling.parts(study.episode, windows * WINDOW + WINDOW - 1)
    assert longer == parts, "steps that fill no window count for nothing"


def test_an_origin_without_a_scored_step_after_it_is_left_out(study):
    whole, scored = study.episode.whole, np.ones(STEPS, bool)
    scored[7 * WINDOW : ADAPT - WINDOW] = False
    scored[ADAPT - 2 * WINDOW : ADAPT] = False
    episode = make_episode(Stream(whole.X, whole.Y, scored), selection_cut=5 * WINDOW)
    parts = rolling.parts(episode, ADAPT)
    assert [p.start // WINDOW for p in parts] == [6]
    scored[5 * WINDOW + 1 : ADAPT] = False
    with pytest.raises(OrlaError, match="no step after the middle"):
        rolling.parts(episode, ADAPT)


def test_one_window_is_no_validation(study):
    with pytest.raises(OrlaError, match="20 steps are 1 windows of 20"):
        rolling.parts(study.episode, WINDOW)


def test_it_sees_every_window_of_the_second_half_and_none_held_out(study):
    before = table("models", study, [0.03])
    for window in range(6, 10):
        part = slice(window * WINDOW, (window + 1) * WINDOW)
        moved = table("models", changed(study, part), [0.03])
        assert (moved[rolling.ERROR] != before[rolling.ERROR]).all(), window
    moved = table("models", changed(study, slice(ADAPT, STEPS)), [0.03])
    assert moved[rolling.ERROR].equals(before[rolling.ERROR])


def test_a_rate_may_be_chosen_by_the_first_steps_alone(study):
    few = replace(study, episode=replace(study.episode, chosen_on=5 * WINDOW))
    before = table("models", few, [0.03])[rolling.ERROR]
    assert (before != table("models", study, [0.03])[rolling.ERROR]).all()
    for window, sees in ((4, True), (5, False), (9, False)):
        part = slice(window * WINDOW, (window + 1) * WINDOW)
        moved = table("models", changed(few, part), [0.03])[rolling.ERROR]
        assert (moved != before).all() if sees else moved.equals(before), window
