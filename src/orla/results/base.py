"""The base class of statistics, tables made from other tables, and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from orla import catalogue
from orla.catalogue import Part
from orla.catalogue.plugins import name_failing_part
from orla.errors import OrlaError
from orla.schema import nearest_hint
from orla.statistics.resampling import RESAMPLES

GIVEN = ("models", "horizon", "alignment", "profile")
"""Tables made from sweeps: a row a model; a model and horizon, observer, or place in a profile."""


MADE_BY_RULES = (
    *("heldout", "lr_curves", "traces", "horizon", "alignment", "profile", "drift_report"),
    *("verdicts", "power", "truth_controls", "peers", "speed", "tta", "language", "language_norms"),
)
"""Results that a rule makes, and no statistic."""


class Comparison(NamedTuple):
    """A difference between two learners of one setting: label, and which learner minus which."""

    label: str
    minuend: str
    subtrahend: str


@dataclass(frozen=True)
class Settings:
    """Settings of the tables.

    Attributes:
        margin_pp, margin_variance: symmetric equivalence margins, of recovery in percentage points
            and of errors in units of the target's variance.
        alpha: level of each one-sided test; the t interval covers 1 - 2 alpha.
        resamples, seed: of the bootstrap.
        comparisons, main: name -> comparison, and that of tables that have one alone.
        rates_of: the precision whose chosen rates are carried over to others.
        quantities: name -> its entry in the config.
    """

    margin_pp: float = 3.0
    margin_variance: float = 0.02
    alpha: float = 0.05
    resamples: int = RESAMPLES
    seed: int = 0
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    main: str = "paper"
    rates_of: str = "float64"
    quantities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_config(
        cls,
        statistics: Mapping[str, Any],
        comparisons: Mapping[str, Any],
        quantities: Mapping[str, Any] | None = None,
    ) -> Settings:
        """From parts of a config: `statistics`, `comparisons` and `quantities`."""
        by_name = {
            name: Comparison(spec.get("label", name), *spec["minus"])
            for name, spec in comparisons.items()
        }
        for _, minuend, subtrahend in by_name.values():
            if minuend == subtrahend:
                raise OrlaError(
                    f'config: "comparisons" subtracts {minuend} from itself; name two learners'
                )
        return cls(**statistics, comparisons=by_name, quantities=quantities or {})


class Statistic(Part, ABC):
    """A table made from the tables that its class statement ``needs``: of `GIVEN` or other ones.

    `columns` holds its columns in order, each with a sentence and its unit.
    """

    kind: ClassVar[str] = "statistic"
    declares: ClassVar[Mapping[str, Any]] = {"needs": ("models",)}
    columns: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def table(self, *tables: pd.DataFrame, settings: Settings) -> pd.DataFrame:
        """The table, from the tables of ``needs`` in that order, which are not changed."""


def needed_tables(name: str) -> tuple[str, ...]:
    """Names of the tables that a statistic needs; OrlaError if it, or one of them, is unknown."""
    names = tuple(catalogue.part("statistic", name).part.more["needs"])
    tables = [*GIVEN, *catalogue.parts("statistic")]
    for other in names:
        if other not in tables:
            raise OrlaError(f'statistic {name} needs "{other}"; {nearest_hint(other, tables)}')
    return names


def dependency_order(names: Iterable[str] | None = None) -> list[str]:
    """These statistics (or all) and those that they need, each after what it needs.

    Raises:
        OrlaError: As in `needed_tables`, or statistics need each other in a circle.
    """
    todo, graph = list(catalogue.parts("statistic") if names is None else names), {}
    for name in todo:
        graph[name] = [other for other in needed_tables(name) if other not in GIVEN]
        todo += [other for other in graph[name] if other not in todo]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise OrlaError(
            f"statistics need each other in a circle: {' -> '.join(error.args[1])}; break it"
        ) from None


def build(name: str, tables: Mapping[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """One statistic's table; `tables` holds at least those that it needs.

    Raises:
        OrlaError: A table cannot be read, or that made has other columns than those declared.
    """
    statistic = catalogue.part("statistic", name)()
    inputs = [tables[other] for other in needed_tables(name)]
    with name_failing_part(statistic):
        table = statistic.table(*inputs, settings=settings)
    if list(table.columns) != list(statistic.columns):
        wrong = set(table.columns) ^ set(statistic.columns) or "the order of its columns"
        raise OrlaError(f"statistic {name}: table and declared columns differ in {wrong}")
    return table


def columns_by_statistic() -> dict[str, list[str]]:
    """Statistic -> the columns of its table."""
    return {name: list(part.columns) for name, part in catalogue.parts("statistic").items()}
