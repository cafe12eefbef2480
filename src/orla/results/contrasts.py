"""Two learners of one setting and pair of sessions, seed by seed, at one estimand."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings
from orla.results.estimands import ESTIMANDS
from orla.results.grids import Grid, Side, grids, side
from orla.statistics import choice
from orla.study.keys import SETTING


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

    def difference(self, measure: str) -> np.ndarray:
        """Difference (seeds,) of one of the estimand's columns at the chosen rates.

        measure: "recovery", "error" or "r2"; NaN where a learner has no such value.
        """
        column = getattr(self.full.estimand, measure)
        return self.full.at_marked(column) - self.immediate.at_marked(column)

    @property
    def gap(self) -> np.ndarray:
        """Difference of recovery (seeds,) in pp; NaN where a learner diverged."""
        return self.difference("recovery")

    @property
    def gap_frozen(self) -> np.ndarray:
        """The same with diverged models scored as the frozen network, (seeds,)."""
        first, second = (s.recovery_frozen[:, s.marked] for s in self.sides)
        return first - second

    @cached_property
    def diverged(self) -> np.ndarray:
        """Whether either learner diverged at its chosen rate, bool (seeds,)."""
        first, second = (s.diverged[:, s.marked] for s in self.sides)
        return first | second

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


def contrasts(models: pd.DataFrame, settings: Settings) -> Iterator[Contrast]:
    """Every setting, comparison of the settings whose learners both ran, and estimand.

    Raises:
        OrlaError: As in `grids`, or a condition is marked at several rates.
    """
    by_setting: dict[tuple, dict[str, Grid]] = {}
    for grid in grids(models):
        setting = tuple(grid.key[name] for name in SETTING)
        by_setting.setdefault(setting, {})[grid.key["learner"]] = grid
    for setting in sorted(by_setting):
        learners = by_setting[setting]
        for name, compared in settings.comparisons.items():
            of = compared.minuend, compared.subtrahend
            if not set(of) <= set(learners):
                continue
            seeds = np.intersect1d(*(learners[learner].seeds for learner in of))
            if not seeds.size:
                continue
            both = [learners[learner].of(seeds) for learner in of]
            key = dict(zip(SETTING, setting, strict=True))
            key |= dict(zip(shared.COMPARED, (name, *of), strict=True))
            for estimand, columns in ESTIMANDS.items():
                sides = [side(grid, columns) for grid in both]
                if None not in sides:
                    yield Contrast(key | {"estimand": estimand}, seeds, *sides)
