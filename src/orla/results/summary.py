"""Summaries: means, intervals and counts of columns over the seeds of a condition or comparison."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.results.estimands import AT_END
from orla.results.grids import Side, grids, side
from orla.results.shared import Key
from orla.statistics.equivalence import tost_from_moments
from orla.statistics.means import Moments, moments, t_interval
from orla.study.keys import KEYS

# Column -> its values (seeds,), NaN where it is not measured.
Sample = Callable[[str], np.ndarray]


class Cell(NamedTuple):
    """Columns of a table that are computed from one column of a sample.

    Attributes:
        column: the column that is read.
        texts: column that is made -> what it holds.
        values: of the sample's values (seeds,), one a column that is made.
    """

    column: str
    texts: dict[str, str]
    values: Callable[[np.ndarray, Settings], Iterable[Any]]


def ends(pattern: str, interval: str = "its interval", unit: str = "") -> dict[str, str]:
    """Columns of the two ends of an interval: `pattern` has {} for low and high."""
    unit = f" ({unit})" if unit else ""
    return {
        pattern.format("low"): f"Lower end of {interval}{unit}.",
        pattern.format("high"): f"Upper end of that interval{unit}.",
    }


ALPHA = "its 1 - 2 alpha t interval"
T95 = "its 95 % t interval"
TEST = {
    "standard_error_pp": "Standard error of the mean (pp).",
    "dof": "Degrees of freedom of the standard error: units - 1.",
    **ends("t90_{}_pp", f"{ALPHA}, 90 % at alpha 0.05", "pp"),
    **ends("t95_{}_pp", T95, "pp"),
    "tost_p": "The larger p of the two one-sided t tests.",
    "delta_star_pp": "Smallest margin at which the test passes (pp).",
    "equivalent": "Whether the test passes at the margin.",
    "margin_pp": "Equivalence margin (pp).",
    "alpha": "Level of each one-sided test.",
}
"""Columns of `equivalence`."""


def equivalence(gap: Moments, standard_error: float, settings: Settings) -> dict[str, Any]:
    """t intervals and equivalence test of a mean gap, under the names `TEST`.

    Args:
        gap: Moments of the gaps of the units (pp).
        standard_error: Of their mean (pp); it has `gap.dof` degrees of freedom.
        settings: Margin and level.

    Returns:
        Without an interval the test does not pass: p is 1.
    """
    margin, alpha = float(settings.margin_pp), float(settings.alpha)
    values = dict.fromkeys(TEST, np.nan) | {"tost_p": 1.0, "equivalent": False}
    if gap.n >= 2:
        test = tost_from_moments(gap.mean, standard_error, gap.dof, -margin, margin, alpha)
        wide = t_interval(gap.mean, standard_error, gap.dof)
        narrow = test.interval_low, test.interval_high
        numbers = (standard_error, gap.dof, *narrow, *wide, test.p, test.delta_star)
        values = dict(zip(TEST, (*numbers, test.equivalent), strict=False))
    values |= {"standard_error_pp": standard_error, "dof": gap.dof}
    return values | {"margin_pp": margin, "alpha": alpha}


def tested(column: str) -> Cell:
    """t intervals and equivalence test of the mean of a column of gaps."""

    def values(sample: np.ndarray, settings: Settings) -> Iterable[Any]:
        gap = moments(sample)
        return equivalence(gap, gap.standard_error, settings).values()

    return Cell(column, TEST, values)


def mean(name: str, text: str, unit: str = "", of: str = "", **intervals: str) -> Cell:
    """The mean of a column's finite values, with intervals.

    Args:
        name: Column of the mean.
        text: What the mean is.
        unit: Its unit.
        of: Column that is read, where it has another name.
        intervals: Kind -> pattern of the columns of its ends: `bootstrap` or `t95`.
    """
    words = {"bootstrap": "its interval", "t95": T95}
    texts = {name: f"{text} ({unit})." if unit else f"{text}."}
    for kind, pattern in intervals.items():
        texts |= ends(pattern, words[kind], unit)

    def values(sample: np.ndarray, settings: Settings) -> list[float]:
        over_seeds = moments(sample)
        numbers = [over_seeds.mean]
        for kind in intervals:
            bootstrap = settings.mean(sample) if kind == "bootstrap" else None
            numbers += [bootstrap.low, bootstrap.high] if bootstrap else over_seeds.interval()
        return numbers

    return Cell(of or name, texts, values)


def seeds(column: str, text: str) -> Cell:
    """Number of seeds with a finite value."""
    return Cell(column, {"n_seeds": text}, lambda of, _: [int(np.isfinite(of).sum())])


def lost(text: str = "Seeds that diverged.") -> Cell:
    """Number of seeds that diverged."""
    return Cell("diverged", {"n_diverged": text}, lambda of, _: [int((of == 1).sum())])


def whether(column: str, text: str) -> Cell:
    """Whether a column is true in any seed."""
    return Cell(column, {column: text}, lambda of, _: [bool((of == 1).any())])


def first(column: str, text: str, kind: Callable[[float], Any] = float) -> Cell:
    """The value that all seeds have."""
    return Cell(column, {column: text}, lambda of, _: [kind(of[0])])


class Summary(Statistic):
    """A row a sample: its keys, then the cells. Its columns are made of both."""

    keys: ClassVar[Mapping[str, str]] = KEYS
    cells: ClassVar[tuple[Cell, ...]] = ()

    def __init_subclass__(cls, **declared: Any) -> None:
        super().__init_subclass__(**declared)
        cls.columns = dict(cls.keys)
        for cell in cls.cells:
            cls.columns |= cell.texts

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterable[tuple[Key, Sample]]:
        """The samples with their keys: by default each condition at its selected rate."""
        more = [cell.column for cell in self.cells]
        return ((one.grid.key, one.at_marked) for one in at_selected(needed, more))

    def table(self, needed: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            [key[name] for name in self.keys]
            + [v for c in self.cells for v in c.values(sample(c.column), settings)]
            for key, sample in self.samples(needed, settings)
        ]
        return pd.DataFrame(rows, columns=list(self.columns))


def at_selected(
    models: pd.DataFrame,
    more: Iterable[str] = (),
    needed: Sequence[str] = shared.MEASURES,
    by: Sequence[str] = tuple(KEYS),
) -> Iterator[Side]:
    """Each condition at its selected rate; for the arguments see `grids.grids`."""
    for grid in grids(models, more, needed, by):
        if (one := side(grid, AT_END)) is not None:
            yield one
