"""The grid of rates, the choice of one, and the rates that may be asked for in its place."""

from itertools import combinations_with_replacement

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
    assert rates.lowest_error_index(measured) == 1
    # Means 2 and 1.5; the medians, 1 and 1.5, order them the other way.
    assert (
        rates.lowest_error_index({0: np.array([1.0, 1.0, 4.0]), 1: np.array([1.5, 1.5, 1.5])}) == 1
    )
    assert rates.lowest_error_index({0: np.array([2.0]), 1: np.array([2.0])}) == 0


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_one_diverged_seed_loses_a_rate(lost):
    assert rates.lowest_error_index({0: np.array([5.0, 5.0]), 1: np.array([0.1, lost])}) == 0
    assert rates.lowest_error_index({3: np.array([lost]), 2: np.array([lost])}) == 2


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


def made_up_errors(seed, seeds):
    """Errors (seeds,) by rate, of which some differ by less than they scatter."""
    draws = np.random.default_rng(seed)
    levels = draws.choice([1.0, 1.02, 1.1, 2.0], 5)
    errors = {i - 2: level + 0.05 * draws.normal(size=seeds) for i, level in enumerate(levels)}
    return errors | ({2: np.full(seeds, np.nan)} if seed % 3 == 0 else {})


def runner_up(errors, best):
    """The second best rate where it is within one standard error of the best one, else that."""
    second = min(
        (i for i in errors if i != best), key=lambda i: np.nan_to_num(errors[i].mean(), nan=np.inf)
    )
    difference = errors[second] - errors[best]
    error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else -np.inf
    return second if difference.mean() <= error else best


@pytest.mark.parametrize("seed", range(12))
def test_the_chosen_rate_and_runners_up_of_the_first_seeds_are_those_of_a_loop(seed):
    errors = made_up_errors(seed, seeds=6)
    best = rates.lowest_error_index(errors)
    by_count = {n: runner_up({i: e[:n] for i, e in errors.items()}, best) for n in range(1, 7)}
    assert rates.chosen_and_runner_up_rates(errors) == sorted({best, *by_count.values()})
    columns = np.stack([errors[i] for i in sorted(errors)], axis=1)
    place = sorted(errors).index(best)
    assert sorted(errors)[rates.runner_up_index(columns, place)] == by_count[6]


def test_the_made_up_errors_have_some_runners_up_and_some_of_fewer_seeds_alone():
    sizes = [len(rates.chosen_and_runner_up_rates(made_up_errors(s, 6))) for s in range(12)]
    assert {1, 2} <= {*sizes}
    assert rates.chosen_and_runner_up_rates({0: np.ones(1), 1: np.ones(1)}) == [0]


@pytest.mark.parametrize("seed", range(12))
def test_every_rate_that_a_resample_chooses_is_undominated(seed):
    errors = made_up_errors(seed, seeds=4)
    resamples = map(list, combinations_with_replacement(range(4), 4))
    chosen = {
        rates.lowest_error_index({i: e[some] for i, e in errors.items()}) for some in resamples
    }
    assert chosen <= {*rates.undominated_rates(errors)}
