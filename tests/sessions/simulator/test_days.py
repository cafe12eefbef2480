from dataclasses import replace

import numpy as np

from orla.sessions.simulator import ArraySettings, Settings, TaskSettings
from orla.sessions.simulator.days import both_days

SMALL = Settings(
    task=TaskSettings(duration_a_s=40.0, duration_b_s=30.0), array=ArraySettings(n_channels=6)
)


def days(**changes):
    """Of each day the sample times, targets and, joined, all event times."""
    return [
        (reaching.t, reaching.target_mm, np.concatenate([x for cells in spikes for x in cells]))
        for reaching, spikes in both_days(replace(SMALL, **changes))
    ]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_day_b_has_its_own_length_and_its_own_reaches():
    (t_a, targets_a, events), (t_b, targets_b, _) = days()
    assert (len(t_a), len(t_b)) == (10_001, 7_501)
    np.testing.assert_allclose(np.diff(t_a), 0.004, atol=1e-9)
    assert not np.array_equal(targets_a[:7_501], targets_b)
    assert t_a[0] <= events.min() and events.max() <= t_a[-1]


def test_a_seed_names_its_days_and_drift_changes_day_b_alone():
    first, again, other = days(), days(), days(seed=7)
    drifted = days(drift=replace(SMALL.drift, scale=2.0))
    for day in (0, 1):
        assert same(first[day], again[day]) and not same(first[day], other[day])
        assert same(first[day], drifted[day]) == (day == 0)
