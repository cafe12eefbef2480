"""Half-decade grids of learning rates: the choice of a rate, and the growth of a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from orla.errors import OrlaError


def half_decade(index: int) -> float:
    """The half-decade rate number `index`: 0 is 1, 1 is 3, 2 is 10, -1 is 0.3, -8 is 1e-4."""
    decade, half = divmod(index, 2)
    return float(f"{3 if half else 1}e{decade}")


def half_decade_index(rate: float) -> int:
    """Number of a half-decade rate; any other one is refused."""
    index = round(2 * math.log10(rate)) if rate > 0 else 0
    if rate <= 0 or not math.isclose(half_decade(index), rate, rel_tol=1e-9):
        raise OrlaError(
            f"{rate:g} is not a half-decade learning rate; write 1e-k or 3e-k such as 0.0003"
        )
    return index


def grid_indices(rates: Sequence[float]) -> list[int]:
    """Sorted numbers of the rates of a grid, which has no holes or repeats."""
    indices = sorted(half_decade_index(rate) for rate in rates)
    if not indices or indices != list(range(indices[0], indices[0] + len(indices))):
        text = ", ".join(f"{rate:g}" for rate in rates)
        raise OrlaError(f"[{text}] has holes or repeats; list neighbouring half decades")
    return indices


def best_rate_index(errors: np.ndarray) -> np.ndarray:
    """Index (...) of the rate with the lowest mean over seeds of errors (..., seeds, rates).

    An error that is not finite (a diverged model) counts as infinite; of rates with equal means the
    smallest is taken.
    """
    by_rate = np.swapaxes(_infinite_where_diverged(errors), -1, -2)
    # The mean over a contiguous last axis rounds as that of one array of seeds does.
    return np.ascontiguousarray(by_rate).mean(axis=-1).argmin(axis=-1)


def lowest_error_index(errors: Mapping[int, np.ndarray]) -> int:
    """The number of the rate of `best_rate_index`, of errors (seeds,) or of one by its number."""
    indices = sorted(errors)
    return indices[best_rate_index(np.stack([np.atleast_1d(errors[i]) for i in indices], axis=1))]


def runner_up_index(errors: np.ndarray, chosen_index: int) -> int:
    """Index of the rate with the second lowest mean of errors (seeds, rates), or the chosen one's.

    It is another where the two differ by no more than the standard error of their difference over
    seeds.
    """
    others = errors.copy()
    others[:, chosen_index] = np.inf
    second = int(best_rate_index(others))
    differences = others[:, second] - errors[:, chosen_index]
    if not np.isfinite(differences).all() or len(errors) < 2:
        return chosen_index
    near = differences.mean() <= differences.std(ddof=1) / np.sqrt(len(errors))
    return second if near else chosen_index


def _infinite_where_diverged(errors: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(errors), errors, np.inf)


def next_rate_index(
    errors: Mapping[int, np.ndarray], initial_indices: Sequence[int], max_growth: int
) -> int | None:
    """The rate to try next: the one beyond the best where the best lies on the grid's edge.

    None where the best is interior, or its side has grown by `max_growth` half decades already.
    Where all rates diverge, the grid grows downwards.
    """
    best = lowest_error_index(errors)
    if best == min(errors) and min(initial_indices) - best < max_growth:
        return best - 1
    if best == max(errors) and best - max(initial_indices) < max_growth:
        return best + 1
    return None


def best_on_edge(errors: Mapping[int, np.ndarray]) -> bool:
    """Whether the rate of the least mean error is the smallest or the largest that was tried."""
    return lowest_error_index(errors) in (min(errors), max(errors))


def undominated_rates(errors: Mapping[int, np.ndarray]) -> list[int]:
    """The rates that no other one beats in every seed by more than means round, sorted.

    They are those that some resample of the seeds can choose, and some more.
    """
    errors = {i: _infinite_where_diverged(s) for i, s in errors.items()}
    return [
        i
        for i in sorted(errors)
        if not any((rival < errors[i] * (1 - 1e-12)).all() for rival in errors.values())
    ]


def chosen_and_runner_up_rates(errors: Mapping[int, np.ndarray]) -> list[int]:
    """The chosen rate, and its `runner_up_index` by all seeds and by the first of them, sorted.

    The first seeds count because a comparison is over the seeds that both its conditions ran.
    """
    indices = sorted(errors)
    table = np.stack([errors[i] for i in indices], axis=1)
    chosen = int(best_rate_index(table))
    runners_up = {runner_up_index(table[:n], chosen) for n in range(2, len(table) + 1)}
    return [indices[i] for i in sorted({chosen, *runners_up})]


def require_horizons(horizons: Sequence[int], window: int, steps: int, split: str) -> None:
    """Refuse a horizon that is no multiple of the window, or longer than the part adapted to."""
    for horizon in horizons:
        if horizon % window or not 2 * window <= horizon <= steps:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of the window ({window}) from two"
                f" windows, one to learn on and one to choose the rate by, up to the {steps}"
                f" steps that are adapted to ({split})"
            )
