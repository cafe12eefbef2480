"""The table of models as arrays: one grid of seeds and rates a condition."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.results import shared
from orla.results.estimands import ESTIMANDS, Estimand
from orla.statistics import choice, resampling
from orla.study.keys import KEYS

NEEDED = list(
    dict.fromkeys(
        [
            *("diverged", "updates"),
            *(column for estimand in ESTIMANDS.values() for column in estimand.columns),
            *("reference_error", "constant_error"),
        ]
    )
)
"""Columns of the table of models that the estimates need."""

_OPTIONAL = [estimand.r2 for estimand in ESTIMANDS.values() if estimand.r2]


@dataclass(frozen=True, eq=False)
class Grid:
    """All models of one condition.

    Attributes:
        key: the condition.
        seeds: (seeds,) in increasing order.
        rates: (rates,) in increasing order.
        values: column -> (seeds, rates); NaN for a model that was not run or has no such value.
    """

    key: shared.Key
    seeds: np.ndarray
    rates: np.ndarray
    values: dict[str, np.ndarray]

    def of(self, seeds: np.ndarray) -> "Grid":
        """The same for some of its seeds (n,), all of which it has."""
        rows = np.searchsorted(self.seeds, seeds)
        kept = {name: array[rows] for name, array in self.values.items()}
        return Grid(self.key, seeds, self.rates, kept)


@dataclass(frozen=True, eq=False)
class Side:
    """One condition's models at one estimand, with the choice of its rate.

    Attributes:
        grid: the models.
        estimand: the columns.
        marked: index of the rate that the table marks as chosen.
    """

    grid: Grid
    estimand: Estimand
    marked: int

    def values(self, column: str) -> np.ndarray:
        """A column of the grid (seeds, rates); NaN where there is no such column."""
        if column not in self.grid.values:
            return np.full((len(self.grid.seeds), len(self.grid.rates)), np.nan)
        return self.grid.values[column]

    def at_marked(self, column: str) -> np.ndarray:
        """A column at the chosen rate, (seeds,); of the learning rate, that one for all."""
        if column == "learning_rate":
            return np.full(len(self.grid.seeds), self.rate)
        return self.values(column)[:, self.marked]

    @cached_property
    def recovery(self) -> np.ndarray:
        """Recovery (seeds, rates) in percent."""
        return self.values(self.estimand.recovery)

    @cached_property
    def recovery_frozen(self) -> np.ndarray:
        """The same with a diverged model scored as the frozen network, which recovers 0."""
        lost = self.diverged & np.isfinite(self.denominator)[:, None]
        return np.where(lost, 0.0, self.recovery)

    @cached_property
    def diverged(self) -> np.ndarray:
        """Which models diverged, bool (seeds, rates)."""
        return self.values("diverged") == 1

    @cached_property
    def denominator(self) -> np.ndarray:
        """Frozen minus reference error (seeds,): what recovery is a share of."""
        return self.at_marked(self.estimand.frozen) - self.at_marked("reference_error")

    def choices(self, draws: np.ndarray) -> np.ndarray:
        """Rate that each resample (resamples, seeds) chooses, (resamples,)."""
        return choice.chosen_rates(self.values(self.estimand.validation), draws)

    def other_rates(self, drawn: resampling.Draws) -> np.ndarray:
        """Share of resamples that choose each rate, (rates,), 0 for the marked one."""
        chosen = self.choices(drawn.different)
        share = np.bincount(chosen, weights=drawn.share, minlength=len(self.rates))
        share[self.marked] = 0.0
        return share

    @property
    def rate(self) -> float:
        """The chosen rate."""
        return float(self.rates[self.marked])

    @property
    def rates(self) -> np.ndarray:
        """(rates,) in increasing order."""
        return self.grid.rates

    @cached_property
    def price(self) -> float:
        """Mean recovery at the rate that its error would choose, minus at the marked one (pp).

        Over the seeds that are finite at both; NaN without any. Of the stable estimand by the
        single freezing at the end: its own scores are known only at rates that may be chosen.
        """
        error, recovery = self.estimand.price
        on_test = int(choice.best_rate(self.values(error or self.estimand.error)))
        values = self.values(recovery or self.estimand.recovery)
        return shared.finite_mean(values[:, on_test] - values[:, self.marked])


def side(grid: Grid, estimand: Estimand) -> Side | None:
    """A condition at one estimand; None where the table marks no rate for it.

    Raises:
        OrlaError: It marks several rates.
    """
    marked = np.flatnonzero((grid.values[estimand.selected] == 1).any(axis=0))
    if len(marked) > 1:
        raise OrlaError(
            f"{shared.name_of(grid.key)}: {estimand.selected} marks {len(marked)} learning rates;"
            " a condition has one"
        )
    return Side(grid, estimand, int(marked[0])) if len(marked) else None


def grids(
    models: pd.DataFrame,
    more: Iterable[str] = (),
    needed: Sequence[str] = NEEDED,
    by: Sequence[str] = tuple(KEYS),
) -> Iterator[Grid]:
    """Each condition of a table of models, sorted by its keys.

    Args:
        models: The table.
        more: Further columns to read, where the table has them.
        needed: Columns that it must have, beside its keys, seed and learning rate.
        by: The columns that tell conditions apart.

    Raises:
        OrlaError: The table lacks a column, or a row its condition; or a condition has a seed twice
            at one rate.
    """
    shared.demand(models, [*by, "seed", "learning_rate", *needed])
    if models.empty:
        return
    number = models.groupby(list(by), sort=True).ngroup().to_numpy()
    names = dict.fromkeys([*needed, *_OPTIONAL, *more])
    known = (*by, "seed", "learning_rate")
    columns = [name for name in names if name in models and name not in known]
    seed, rate = models["seed"].to_numpy(), models["learning_rate"].to_numpy(float)
    order = np.lexsort((rate, seed, number))
    data = np.stack([models[name].to_numpy(float, na_value=np.nan) for name in columns])[:, order]
    keys = models[list(by)].iloc[order]
    bounds = np.flatnonzero(np.diff(number[order], prepend=-1, append=-1))
    for start, end in pairwise(bounds):
        key = dict(zip(by, keys.iloc[start], strict=True))
        rows = order[start:end]
        seeds, i = np.unique(seed[rows], return_inverse=True)
        rates, j = np.unique(rate[rows], return_inverse=True)
        place = i * len(rates) + j
        if len(place) > 1 and (twice := np.diff(place) == 0).any():
            at = rows[1:][twice][0]
            raise OrlaError(
                f"{shared.name_of(key)}: seed {seed[at]} occurs twice at the rate {rate[at]:g};"
                " give one row a model"
            )
        values = np.full((len(columns), len(seeds) * len(rates)), np.nan)
        values[:, place] = data[:, start:end]
        shaped = values.reshape(len(columns), len(seeds), len(rates))
        yield Grid(key, seeds, rates, dict(zip(columns, shaped, strict=True)))
