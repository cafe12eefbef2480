"""Two learners of one setting and pair of sessions, seed by seed, at one estimand."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.results.estimands import ESTIMANDS, Estimand
from orla.results.grids import Grid, Key, Side, condition_grids, marked_side, seed_values
from orla.results.scales import PP, VARIANCE

COMPARED = {
    "comparison": "Name of the comparison in the config.",
    "learner_full": "Learner that is subtracted from.",
    "learner_immediate": "Learner that is subtracted.",
}


@dataclass(frozen=True, eq=False)
class Contrast:
    """One learner minus another over the seeds (seeds,) that both ran, in increasing order.

    key: setting, comparison, both learners and estimand.
    """

    key: Key
    seeds: np.ndarray
    full: Side
    immediate: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.full, self.immediate

    def differences(self, column: str) -> np.ndarray:
        """Difference (seeds,) of a column at the chosen rates; NaN where a learner has no value.

        A mark, such as "diverged", is true where it is true of either learner. The denominator is
        the same for both, so it is answered as it is.
        """
        first, second = (seed_values(side, column) for side in self.sides)
        if column in ("diverged", "unreliable"):
            return (first == 1) | (second == 1)
        return first if column == "denominator" else first - second

    @property
    def gap(self) -> np.ndarray:
        """Difference of recovery (seeds,) in pp; NaN where a learner diverged."""
        return self.full.recovery - self.immediate.recovery

    @property
    def error_gap(self) -> np.ndarray:
        """Error (seeds,) of the learner that is subtracted minus the other's."""
        return self.immediate.error - self.full.error

    def gaps_by_variant(self) -> dict[str, np.ndarray]:
        """Gaps (seeds,) in each of `scales.VARIANTS` but that over pairs, by their column."""
        frozen = (replace(side, as_frozen=True) for side in self.sides)
        variants = {"": self, "frozen": Contrast(self.key, self.seeds, *frozen)}
        variants["runner_up_full"] = replace(self, full=self.full.at_runner_up)
        variants["runner_up_immediate"] = replace(self, immediate=self.immediate.at_runner_up)
        of_recovery = {PP.gap_column(name): c.gap for name, c in variants.items()}
        return of_recovery | {VARIANCE.gap_column(n): c.error_gap for n, c in variants.items()}

    def seed_scores(self) -> dict[str, np.ndarray]:
        """What is compared, seed by seed, under the columns of the estimates; (seeds,) each."""
        return {
            "gap_pp": self.gap,
            "r2_gap": self.differences(self.full.estimand.r2),
            "error_gap": self.error_gap,
            "recovery_full_percent": self.full.recovery,
            "recovery_immediate_percent": self.immediate.recovery,
            "over_best_full_percent": self.full.recovery_over_best_baseline,
            "over_best_immediate_percent": self.immediate.recovery_over_best_baseline,
            "diverged": self.differences("diverged"),
        }


def contrasts(
    models: pd.DataFrame,
    settings: Settings,
    names: Collection[str] | None = None,
    estimands: Mapping[str, Estimand] = ESTIMANDS,
    **columns: Any,
) -> Iterator[Contrast]:
    """Every setting, comparison whose learners both ran (of these names), and estimand.

    `columns` say what is read of the table; see `condition_grids`.

    Raises:
        OrlaError: As in `condition_grids`, or a condition is marked at several rates.
    """
    ran: dict[tuple, dict[str, Grid]] = defaultdict(dict)
    for grid in condition_grids(models, **columns):
        setting = tuple(item for item in grid.key.items() if item[0] != "learner")
        ran[setting][grid.key["learner"]] = grid
    for setting in sorted(ran):
        for name, (_, *learners) in settings.comparisons.items():
            if (names is not None and name not in names) or not set(learners) <= set(ran[setting]):
                continue
            grids = [ran[setting][learner] for learner in learners]
            seeds = np.intersect1d(*(grid.seeds for grid in grids))
            key = dict(setting) | dict(zip(COMPARED, (name, *learners), strict=True))
            for estimand, scores in estimands.items():
                sides = [marked_side(grid.take(seeds), scores) for grid in grids]
                if None not in sides:
                    yield Contrast(key | {"estimand": estimand}, seeds, *sides)
