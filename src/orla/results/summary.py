"""Summaries: means, intervals and counts of columns over the seeds of a condition or comparison."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.results.base import Settings, Statistic
from orla.results.grids import Key, seed_values, selected_sides
from orla.results.scales import PP, Scale
from orla.statistics.means import moments, t_interval, tost
from orla.study.keys import KEYS

# Column -> its values (seeds,), NaN where it is not measured.
Sample = Callable[[str], np.ndarray]

_INTERVALS = {
    "t95": "its 95 % t interval",
    "t90": "its 1 - 2 alpha t interval, 90 % at alpha 0.05",
}


def _with_unit(column: str, text: str) -> str:
    """A column's description with the unit that its name ends with."""
    units = {"pp": " (pp).", "percent": " (%)."}
    return text + units.get(column.rpartition("_")[2], ".")


def end_columns(pattern: str, interval: str = "") -> dict[str, str]:
    """The columns of the ends of an interval, described; {} in the pattern is low and high.

    By default the interval is the one that their name says by t95 or t90.
    """
    kinds = (text for kind, text in _INTERVALS.items() if kind in pattern)
    interval = interval or next(kinds, "its interval")
    texts = {"low": f"Lower end of {interval}", "high": "Upper end of that interval"}
    names = {end: pattern.format(end) for end in texts}
    return {names[end]: _with_unit(names[end], text) for end, text in texts.items()}


_TEST = {
    "standard_error": "Standard error of the mean",
    "dof": "Degrees of freedom of the standard error: units - 1",
    **end_columns("t90_{}"),
    **end_columns("t95_{}"),
    "tost_p": "The larger p of the two one-sided t tests",
    "delta_star": "Smallest margin at which the test passes",
    "equivalent": "Whether the test passes at the margin",
    "margin": "Equivalence margin",
}


class DerivedColumns(NamedTuple):
    """A summary's cells (with what each holds) that are computed from one column of a sample.

    values: of the sample's values (seeds,), one a column that is made.
    """

    column: str
    texts: dict[str, str]
    values: Callable[[np.ndarray, Settings], Iterable[Any]]

    def columns(self, sample: Sample, settings: Settings) -> Key:
        """The columns of one row, from the columns of its sample."""
        return dict(zip(self.texts, self.values(sample(self.column), settings), strict=True))


def equivalence_test(column: str, scale: Scale = PP) -> DerivedColumns:
    """Columns of t intervals and the equivalence test of the mean of a column of gaps.

    Without an interval the test does not pass: p is 1.
    """

    def values(sample: np.ndarray, settings: Settings) -> Iterable[Any]:
        margin, gap = float(getattr(settings, f"margin_{scale.unit}")), moments(sample)
        estimate = gap.mean, gap.standard_error, gap.dof
        if gap.n < 2:
            return (*estimate[1:], *(np.nan,) * 4, 1.0, np.nan, False, margin)
        test = tost(*estimate, margin, float(settings.alpha))
        ends = *test.interval, *t_interval(*estimate)
        return (*estimate[1:], *ends, test.p, test.delta_star, test.equivalent, margin)

    names = {scale.test_column(name): text.rstrip(".") for name, text in _TEST.items()}
    return DerivedColumns(column, {n: _with_unit(n, t) for n, t in names.items()}, values)


def mean(name: str, text: str, source: str = "", **intervals: str) -> DerivedColumns:
    """The mean of a column's finite values, with t intervals.

    Args:
        name, text: Column of the mean, whose unit a last _pp or _percent is; what it is.
        source: Column that is read, where it has another name.
        intervals: Kind, `t95` or `t90` (of 1 - 2 alpha) -> pattern of the columns of its ends.
    """
    texts = {name: _with_unit(name, text)}
    for kind, pattern in intervals.items():
        texts |= end_columns(pattern, _INTERVALS[kind])

    def values(sample: np.ndarray, settings: Settings) -> list[float]:
        over_seeds, level = moments(sample), {"t95": 0.95, "t90": 1 - 2 * settings.alpha}
        ends = (over_seeds.interval(level[kind]) for kind in intervals)
        return [over_seeds.mean, *chain.from_iterable(ends)]

    return DerivedColumns(source or name, texts, values)


def finite_count(name: str, column: str, text: str) -> DerivedColumns:
    """A column with the number of units that have a finite value."""
    return DerivedColumns(column, {name: text}, lambda values, _: [int(np.isfinite(values).sum())])


seeds = partial(finite_count, "n_seeds")


def diverged_seeds(text: str = "Seeds that diverged.") -> DerivedColumns:
    """A column with the number of seeds that diverged."""
    return DerivedColumns("diverged", {"n_diverged": text}, lambda v, _: [int((v == 1).sum())])


def significance_level(column: str) -> DerivedColumns:
    """A column with the level of the tests."""
    texts = {"alpha": "Level of each one-sided test."}
    return DerivedColumns(column, texts, lambda _, settings: [float(settings.alpha)])


def any_seed(column: str, text: str) -> DerivedColumns:
    """A column that says whether a mark is true in any seed."""
    return DerivedColumns(column, {column: text}, lambda values, _: [bool((values == 1).any())])


def shared_value(column: str, text: str, kind: Callable[[float], Any] = float) -> DerivedColumns:
    """A column with the value that all seeds have."""
    return DerivedColumns(column, {column: text}, lambda values, _: [kind(values[0])])


MEAN_DENOMINATOR = DerivedColumns(
    "denominator",
    {
        "denominator": "Mean over seeds of frozen minus reference error.",
        "denominator_se": "Its standard error over seeds.",
    },
    lambda values, _: [(over_seeds := moments(values)).mean, over_seeds.standard_error],
)
DENOMINATOR = (
    any_seed("unreliable", "Whether recovery's denominator is too small in any seed."),
    MEAN_DENOMINATOR,
)
"""Columns that tell whether recovery says anything (`guards.denominator_fails`)."""


def column_texts(cells: Iterable[DerivedColumns]) -> dict[str, str]:
    """All columns of some cells, described."""
    return {column: text for cell in cells for column, text in cell.texts.items()}


def cells_row(cells: Iterable[DerivedColumns], sample: Sample, settings: Settings) -> Key:
    """All columns of some cells for one sample."""
    return {c: v for cell in cells for c, v in cell.columns(sample, settings).items()}


class Summary(Statistic):
    """A row a sample: its keys, then the cells. Its columns are made of both."""

    keys: ClassVar[Mapping[str, str]] = KEYS
    cells: ClassVar[tuple[DerivedColumns, ...]] = ()

    def __init_subclass__(cls, **declarations: Any) -> None:
        super().__init_subclass__(**declarations)
        cls.columns = {**cls.keys, **column_texts(cls.cells)}

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterable[tuple[Key, Sample]]:
        """The samples with their keys: by default each condition at its selected rate."""
        more = [cell.column for cell in self.cells]
        return ((s.grid.key, partial(seed_values, s)) for s in selected_sides(models, more))

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            {name: key[name] for name in self.keys} | cells_row(self.cells, sample, settings)
            for key, sample in self.samples(models, settings)
        ]
        return pd.DataFrame(rows, columns=list(self.columns))
