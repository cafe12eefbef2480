import numpy as np
import pytest

from orla.errors import OrlaError
from orla.study import rates


def test_half_decades_have_numbers_and_any_other_rate_is_refused():
    numbers = {0: 1.0, 1: 3.0, 2: 10.0, -1: 0.3, -2: 0.1, -7: 3e-4, -8: 1e-4}
    for index, rate in numbers.items():
        assert rates.half_decade(index) == rate and rates.half_decade_index(rate) == index
    for rate in (0.0, -0.1, 0.2, 0.00031, 5.0):
        with pytest.raises(OrlaError, match="half-decade"):
            rates.half_decade_index(rate)


def test_a_grid_is_sorted_and_has_no_holes():
    assert rates.grid_indices([0.03, 0.01, 0.1]) == [-4, -3, -2]
    for bad in ([0.01, 0.1], [0.01, 0.01], []):
        with pytest.raises(OrlaError, match="holes or repeats"):
            rates.grid_indices(bad)


def scores(**means):
    return {int(name[1:]): np.array([mean, mean]) for name, mean in means.items()}


def test_the_best_has_the_lowest_mean_over_seeds():
    measured = {0: np.array([1.0, 3.0]), 1: np.array([0.1, 3.5]), 2: np.array([1.9, 1.9])}
    assert rates.best_index(measured) == 1
    # Means 2 and 1.5; the medians, 1 and 1.5, order them the other way.
    assert rates.best_index({0: np.array([1.0, 1.0, 4.0]), 1: np.array([1.5, 1.5, 1.5])}) == 1
    assert rates.best_index({0: np.array([2.0]), 1: np.array([2.0])}) == 0


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_one_diverged_seed_loses_a_rate(lost):
    assert rates.best_index({0: np.array([5.0, 5.0]), 1: np.array([0.1, lost])}) == 0
    assert rates.best_index({3: np.array([lost]), 2: np.array([lost])}) == 2


@pytest.mark.parametrize(
    "measured, growth, expected",
    [
        (scores(i0=3, i1=1, i2=2), 2, None),
        (scores(i0=1, i1=2, i2=3), 2, -1),
        (scores(i0=3, i1=2, i2=1), 2, 3),
        (scores(i0=1, i1=2, i2=3), 0, None),
        (scores(i0=3, i1=2, i2=1, i3=0.5, i4=0.4), 2, None),
        (scores(i0=3, i1=2, i2=1, i3=0.5, i4=0.4), 3, 5),
        (scores(i0=np.nan, i1=np.nan, i2=np.nan), 2, -1),
    ],
)
def test_the_grid_grows_where_its_best_lies_on_the_edge(measured, growth, expected):
    assert rates.next_rate_index(measured, [0, 1, 2], growth) == expected


def test_a_best_rate_at_the_end_of_the_grid_is_on_edge():
    assert rates.best_on_edge(scores(i0=1, i1=2)) and rates.best_on_edge(scores(i0=2, i1=1))
    assert not rates.best_on_edge(scores(i0=2, i1=1, i2=3))
