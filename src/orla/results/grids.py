"""The table of models as arrays: one grid of seeds and rates a condition.

What all statistics have in common: a difference or mean is over the seeds in which all of its
values are finite; `n_diverged` counts the seeds in which a model diverged. Without a finite seed an
estimate is null; with fewer than two there is no interval (null) and no equivalence (p = 1).
Intervals of a mean are t intervals. Differences of recovery are in percentage points (pp).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.results import guards
from orla.results.estimands import AT_END, ESTIMANDS, Estimand
from orla.statistics.means import Moments, moments
from orla.statistics.resampling import Draws, finite_means
from orla.study.keys import KEYS
from orla.study.rates import best_rate_index, runner_up_index
from orla.study.recovery import recovery_percent

NEEDED = [
    *("diverged", "unreliable", "selected_on_test", "selected_on_tail", "updates"),
    *("reference_error", "constant_error"),
    *(
        getattr(estimand, column)
        for estimand in ESTIMANDS.values()
        for column in ("selected", "validation", "recovery", "error", "frozen", "edge")
    ),
]
"""Columns that every table of models has, beside its keys, seed and learning rate."""

_OPTIONAL = [estimand.r2 for estimand in ESTIMANDS.values() if estimand.r2]

Key = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Grid:
    """All models of one condition.

    seeds, rates: in increasing order. values: column -> (seeds, rates); NaN for a model that was
    not run or has no such value.
    """

    key: Key
    seeds: np.ndarray
    rates: np.ndarray
    values: dict[str, np.ndarray]

    def take(self, seeds: np.ndarray) -> "Grid":
        """The grid of some of its seeds (n,), all of which it has."""
        rows = np.searchsorted(self.seeds, seeds)
        values = {name: array[rows] for name, array in self.values.items()}
        return Grid(self.key, seeds, self.rates, values)


@dataclass(frozen=True, eq=False)
class Side:
    """One condition's models at one estimand; `rate_index` is the index of the chosen rate.

    as_frozen: whether diverged models are scored as the network that does not adapt.
    """

    grid: Grid
    estimand: Estimand
    rate_index: int
    as_frozen: bool = False

    def values(self, column: str) -> np.ndarray:
        """A column of the grid (seeds, rates); NaN where there is no such column."""
        shape = len(self.grid.seeds), len(self.grid.rates)
        return self.grid.values.get(column, np.full(shape, np.nan))

    def at_rate(self, column: str) -> np.ndarray:
        """A column at the chosen rate, (seeds,)."""
        return self.values(column)[:, self.rate_index]

    def mean(self, column: str) -> float:
        """Mean over the seeds in which a column is finite at the chosen rate."""
        return float(finite_means(self.at_rate(column)))

    @property
    def rate(self) -> float:
        return float(self.grid.rates[self.rate_index])

    @property
    def diverged(self) -> np.ndarray:
        """Which models diverged at the chosen rate, bool (seeds,)."""
        return self.at_rate("diverged") == 1

    @property
    def denominator(self) -> np.ndarray:
        """Frozen minus reference error (seeds,): what recovery is a share of."""
        return self.at_rate(self.estimand.frozen) - self.at_rate("reference_error")

    @property
    def recovery_has_meaning(self) -> bool:
        """Whether recovery says anything: its denominator is clear."""
        return _denominator_is_sufficient(moments(self.denominator))

    @property
    def recovery(self) -> np.ndarray:
        """Recovery (seeds,) in percent; that of the frozen network is 0."""
        as_zero = self.as_frozen & self.diverged & np.isfinite(self.denominator)
        return np.where(as_zero, 0.0, self.at_rate(self.estimand.recovery))

    @property
    def error(self) -> np.ndarray:
        """Error (seeds,)."""
        columns = (self.estimand.frozen, self.estimand.error)
        return np.where(self.as_frozen & self.diverged, *map(self.at_rate, columns))

    @property
    def recovery_over_best_baseline(self) -> np.ndarray:
        """Recovery (seeds,) in percent over the better of the frozen network and the best constant.

        At the chosen rate; NaN without a clear denominator.
        """
        zero = self.at_rate(self.estimand.frozen)
        if self.estimand.constant:
            zero = np.fmin(zero, self.at_rate(self.estimand.constant))
        reference = self.at_rate("reference_error")
        if not _denominator_is_sufficient(moments(zero - reference)):
            return np.full(len(zero), np.nan)
        return recovery_percent(zero, self.at_rate(self.estimand.error), reference)

    @property
    def rate_search(self) -> guards.RateSearch:
        """How its learner was tried: its rates, the chosen one, and its updates."""
        learner = f"{self.grid.key['learner']} with {self.grid.key['optimizer']}"
        edge, rates = (self.at_rate(self.estimand.edge) == 1).any(), len(self.grid.rates)
        return guards.RateSearch(learner, self.mean("updates"), rates, self.rate, bool(edge))

    @property
    def at_runner_up(self) -> "Side":
        """The same at the rate of `runner_up_index`, or itself."""
        second = runner_up_index(self.values(self.estimand.validation), self.rate_index)
        return self if second == self.rate_index else replace(self, rate_index=second)

    def resampled_rate_indices(self, draws: np.ndarray) -> np.ndarray:
        """Index of the rate that each resample (resamples, seeds) chooses, (resamples,)."""
        return best_rate_index(self.values(self.estimand.validation)[draws])

    def other_rate_share(self, draws: Draws) -> float:
        """Share of resamples that choose another rate than the marked one."""
        is_other = self.resampled_rate_indices(draws.different) != self.rate_index
        return float(draws.different_resample_shares[is_other].sum())


def _denominator_is_sufficient(denominator: Moments) -> bool:
    """Whether a denominator is large enough for recovery to have a meaning."""
    return not guards.denominator_fails(denominator.mean, denominator.standard_error)


def marked_side(grid: Grid, estimand: Estimand) -> Side | None:
    """A condition at one estimand; None where the table marks no rate, OrlaError if several."""
    indices = np.flatnonzero((grid.values[estimand.selected] == 1).any(axis=0))
    if len(indices) > 1:
        raise OrlaError(
            f"{condition_name(grid.key)}: {estimand.selected} marks {len(indices)} learning rates;"
            " a condition has one"
        )
    return Side(grid, estimand, int(indices[0])) if len(indices) else None


OF_ADAPT = ("adapt_error", "recovery_adapt_percent", "adapt_vs_best_rtrl_percent")
"""Columns about the adapt part, which a table shows at the rate that is chosen for it."""
OVER_BEST = "recovery_over_best_percent"
"""Column of `Side.recovery_over_best_baseline`, which is made from others."""


def seed_values(side: Side, column: str) -> np.ndarray:
    """A column (seeds,) at the side's rate; of "learning_rate", that rate for all seeds.

    Where the side is of a held-out estimand, a column of `OF_ADAPT` is read at the rate that is
    chosen on the adapt part.
    """
    if column == OVER_BEST:
        return side.recovery_over_best_baseline
    if column == "denominator":
        return side.denominator
    if column == "learning_rate":
        return np.full(len(side.grid.seeds), side.rate)
    on_adapt = column in OF_ADAPT and side.estimand.recovery not in OF_ADAPT
    other = marked_side(side.grid, ESTIMANDS["adapt"]) if on_adapt else None
    return (other or side).at_rate(column)


def selected_sides(models: pd.DataFrame, *columns: Any) -> Iterator[Side]:
    """Each condition at its selected rate; `columns` are those arguments of `condition_grids`."""
    sides = (marked_side(grid, AT_END) for grid in condition_grids(models, *columns))
    return (side for side in sides if side is not None)


def condition_grids(
    models: pd.DataFrame,
    more: Iterable[str] = (),
    base_columns: Sequence[str] = NEEDED,
    by: Sequence[str] = tuple(KEYS),
) -> Iterator[Grid]:
    """Each condition of a table of models, sorted by its keys.

    Args:
        models: The table, with the columns `base_columns` beside `by`, seed and learning rate.
        more: Further columns to read, where the table has them.
        by: The columns that tell conditions apart.

    Raises:
        OrlaError: The table lacks a column, or a row its condition; or a condition has a seed twice
            at one rate.
    """
    keys = [*by, "seed", "learning_rate"]
    require_columns(models, [*keys, *base_columns])
    for _, row in models[models.duplicated(keys)].iterrows():
        raise OrlaError(
            f"{condition_name(row[[*by]].to_dict())}: seed {row['seed']} occurs twice at the rate"
            f" {row['learning_rate']:g}; give one row a model"
        )
    names = dict.fromkeys([*base_columns, *_OPTIONAL, *more])
    columns = [name for name in names if name in models and name not in keys]
    seed, rate = models["seed"].to_numpy(), models["learning_rate"].to_numpy(float)
    data = [models[name].to_numpy(float, na_value=np.nan) for name in columns]
    of_key = models.groupby(list(by)).indices if len(models) else {}
    for key, rows in sorted(of_key.items()):
        seeds, i = np.unique(seed[rows], return_inverse=True)
        rates, j = np.unique(rate[rows], return_inverse=True)
        values = np.full((len(columns), len(seeds), len(rates)), np.nan)
        values[:, i, j] = [column[rows] for column in data]
        by_column = dict(zip(columns, values, strict=True))
        yield Grid(dict(zip(by, key, strict=True)), seeds, rates, by_column)


def require_columns(models: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table that lacks a column, or a row that does not say its condition."""
    for name in columns if len(models) else ():
        lacks = f"lacks the column {name}" if name not in models else ""
        if not lacks and name in (*KEYS, "seed") and models[name].isna().any():
            lacks = f"has a row without {name}"
        if lacks:
            raise OrlaError(f"the table of models {lacks}; delete it and run again")


def condition_name(key: Key) -> str:
    """A condition for a message: its values, joined by slashes."""
    return "/".join(str(value) for value in key.values() if value != "")
