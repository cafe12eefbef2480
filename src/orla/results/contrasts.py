"""Two learners of one setting and pair of sessions, seed by seed, at one estimand."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings
from orla.results.estimands import ESTIMANDS, Estimand
from orla.results.grids import Grid, Side, grids, side
from orla.statistics import choice


@dataclass(frozen=True, eq=False)
class Contrast:
    """One learner minus another over the seeds that both ran.

    Attributes:
        key: setting, comparison, both learners and estimand.
        seeds: (seeds,) in increasing order.
        full: the learner that is subtracted from.
        immediate: the learner that is subtracted.
    """

    key: shared.Key
    seeds: np.ndarray
    full: Side
    immediate: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both learners."""
        return self.full, self.immediate

    def difference(self, column: str) -> np.ndarray:
        """Difference (seeds,) of a column at the chosen rates; NaN where one has no such value."""
        return self.full.at_marked(column) - self.immediate.at_marked(column)

    def either(self, mark: str) -> np.ndarray:
        """Whether a column is true of either learner at its chosen rate, bool (seeds,)."""
        first, second = (s.at_marked(mark) == 1 for s in self.sides)
        return first | second

    def values(self, column: str) -> np.ndarray:
        """A column's difference (seeds,); of a mark, whether it is true of either learner."""
        marks = ("diverged", "unreliable")
        return self.either(column) if column in marks else self.difference(column)

    @property
    def gap(self) -> np.ndarray:
        """Difference of recovery (seeds,) in pp; NaN where a learner diverged."""
        return self.difference(self.full.estimand.recovery)

    @property
    def gap_frozen(self) -> np.ndarray:
        """The same with diverged models scored as the frozen network, (seeds,)."""
        first, second = (s.recovery_frozen[:, s.marked] for s in self.sides)
        return first - second

    @cached_property
    def diverged(self) -> np.ndarray:
        """Whether either learner diverged at its chosen rate, bool (seeds,)."""
        return self.either("diverged")

    def resampled(self, draws: np.ndarray, frozen: bool = False) -> np.ndarray:
        """Mean gap in pp of each resample of seeds, (resamples,).

        A resample holds the same seeds for both learners, and each learner's rate is chosen anew
        by its validation errors on them. The mean is over the finite gaps; NaN without any.

        Args:
            draws: (resamples, seeds) which seeds.
            frozen: score diverged models as the frozen network.
        """
        first, second = (
            choice.at_rates(s.recovery_frozen if frozen else s.recovery, draws, s.choices(draws))
            for s in self.sides
        )
        return choice.finite_means(first - second)


def contrasts(
    models: pd.DataFrame,
    settings: Settings,
    names: Iterable[str] | None = None,
    estimands: Mapping[str, Estimand] = ESTIMANDS,
    **columns: Any,
) -> Iterator[Contrast]:
    """Every setting, comparison whose learners both ran, and estimand.

    Args:
        models: The table.
        settings: The comparisons.
        names: Those to form; all by default.
        estimands: By which choice of the rate.
        columns: What is read of the table; see `grids`.

    Raises:
        OrlaError: As in `grids`, or a condition is marked at several rates.
    """
    by_setting: dict[tuple, dict[str, Grid]] = {}
    for grid in grids(models, **columns):
        setting = tuple((name, value) for name, value in grid.key.items() if name != "learner")
        by_setting.setdefault(setting, {})[grid.key["learner"]] = grid
    for setting in sorted(by_setting):
        learners = by_setting[setting]
        for name in settings.comparisons if names is None else names:
            compared = settings.comparisons.get(name)
            sides = (compared.minuend, compared.subtrahend) if compared else ()
            if not sides or not set(sides) <= set(learners):
                continue
            seeds = np.intersect1d(*(learners[learner].seeds for learner in sides))
            if not seeds.size:
                continue
            both = [learners[learner].of(seeds) for learner in sides]
            key = dict(setting) | dict(zip(shared.COMPARED, (name, *sides), strict=True))
            for estimand, named in estimands.items():
                chosen = [side(grid, named) for grid in both]
                if None not in chosen:
                    yield Contrast(key | {"estimand": estimand}, seeds, *chosen)
