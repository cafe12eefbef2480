"""A registration: what will be read of the results and the rule that judges it, written before."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from orla.errors import OrlaError
from orla.prereg.region import Region
from orla.prereg.rules import MeanRule
from orla.results.scales import PP, SCALES, VARIANTS, Scale
from orla.schema import nearest_hint
from orla.study.keys import DEFAULTS

Value = str | float | int | bool

PAIR, SEED = "pair", "seed"
RESULT = {PAIR: "over_pairs", SEED: "estimates"}
"""Unit -> the result whose row is judged."""

QUANTITIES, QUANTITY_PAIRS = "quantities", "quantity_pairs"
"""The result of a registration about a quantity, and that with its value on each pair."""
SOUND = "without_failing"
OTHERS = {SOUND: "without the pairs that fail a guard"} | dict.fromkeys(
    ("runner_up_lowest", "runner_up_highest"), "with one condition at the runner-up of its rates"
)
"""Variants of a quantity, formed in another way, in words."""

DRIFTING = "pairs that drift"
LATER_PARTS = (
    *("evidence", "checks", "pairs left out", "families", "early stopping", DRIFTING),
    "diverged models",
)
"""Parts that a registration which was bound before they were there goes without."""

_QUANTITY = Scale("", "value{}", "t90_{}{}", ("{}", "{}"), "n_{}s")
COUNTS = ("n_pairs", "n_without_meaning", "n_seeds", "n_diverged", "n_failing")
_OF_QUANTITY = ("scale", "unit", *COUNTS, "guards", "alpha")
_OF_GAP = (
    *("learner_full", "learner_immediate", "alpha", "n_diverged"),
    *("over_best_full_low_percent", "over_best_immediate_low_percent"),
)


class Variant(NamedTuple):
    """An estimate formed in another way: in words, and the columns of its mean and interval."""

    words: str
    columns: tuple[str, str, str]


class EstimateQuery(NamedTuple):
    """One row of one result.

    `columns` holds what is read by its role: estimate, low, high, standard_error, dof and n.
    `interval` says what its interval is of, `variants` each other way to form the estimate.
    """

    result: str
    where: Mapping[str, Value]
    columns: Mapping[str, str]
    interval: str
    variants: Mapping[str, Variant]

    @property
    def column_names(self) -> list[str]:
        """The columns that it needs, those that only confirm the registration aside."""
        variant_columns = (column for each in self.variants.values() for column in each.columns)
        return [*self.where, *self.columns.values(), *variant_columns]


class Check(NamedTuple):
    """A manipulation check: what must lie in a region, or equal a value, on every row.

    `ends` are one column, or the two ends of an interval that must lie in the region wholly.
    """

    name: str
    result: str
    where: Mapping[str, list[Value]]
    ends: tuple[str, ...]
    region: Region | None
    equals: Value | None


@dataclass(frozen=True)
class Registration:
    """A claim about a mean gap or a quantity, with all that was fixed before the results.

    Attributes:
        name, folder: its file's name without the suffix, and the folder that the file lies in.
        seeds: networks a pair, those that diverged included.
        rule, scale: the claim, and its unit of measurement.
        seen_text: what had been seen when it was written, in words.
        studies: names of the configs that it is for.
        quantity: the quantity of the config that it is about, or "" for a gap; then `comparison`
            and `minus` say which.
    """

    name: str
    folder: Path
    seeds: int
    max_diverged: int
    rule: MeanRule
    title: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    scale: str = PP.unit
    seen_text: str = ""
    studies: tuple[str, ...] = ()
    primary: bool = False
    task: str = ""
    pair: str = ""
    estimand: str = ""
    unit: str = SEED
    pairs: int = 1
    max_failing: int = 0
    comparison: str = ""
    minus: tuple[str, ...] = ()
    must_recover: tuple[str, ...] = ()
    quantity: str = ""
    alpha: float = 0.05
    margin_reason: str = ""
    binds: Mapping[str, Any] = field(default_factory=dict)

    @property
    def by_pairs(self) -> bool:
        """Whether its unit is the pair of sessions, not the seed."""
        return self.unit == PAIR

    @cached_property
    def query(self) -> EstimateQuery:
        """Where the estimate that is judged stands."""
        return self._unit_query(self.unit)

    @property
    def measure(self) -> str:
        """What is estimated: the quantity, or the column of the gap."""
        return self.quantity or self.query.columns["estimate"]

    @property
    def pair_result(self) -> str:
        """The result with the estimate of each pair."""
        return QUANTITY_PAIRS if self.quantity else RESULT[SEED]

    @property
    def required_columns(self) -> list[tuple[str, list[str]]]:
        """(result, columns) of everything that the registration reads."""
        if self.quantity:
            columns = [(QUANTITIES, [*self.query.column_names, *_OF_QUANTITY])]
            columns += [(QUANTITY_PAIRS, ["quantity", "pair", "value"])] * self.by_pairs
        else:
            names = [*self._unit_query(SEED).column_names, *_OF_GAP, "pair", "guards"]
            columns = [(RESULT[SEED], names + ["has_meaning"] * (self.scale == PP.unit))]
            if self.by_pairs:
                of_seeds = SCALES[self.scale].count.format(SEED)
                names = [*self.query.column_names, *_OF_GAP, "n_failing", of_seeds]
                columns.append((RESULT[PAIR], names))
        return columns + [(check.result, [*check.where, *check.ends]) for check in self.checks]

    def _unit_query(self, unit: str) -> EstimateQuery:
        """The query of the quantity's row, or of the gap over units of one kind."""
        if self.quantity:
            scale, result, words = _QUANTITY, QUANTITIES, OTHERS
            where: dict[str, Value] = {"quantity": self.quantity}
        else:
            scale, result = SCALES[self.scale], RESULT[unit]
            where = self.default_where | dict(self.conditions) | {"comparison": self.comparison}
            words = {n: OTHERS.get(n, f"with {text}") for n, text in VARIANTS.items() if n}
            if unit == SEED:
                del words[SOUND]
        columns = {
            name: (scale.gap_column(name), *map(scale.ends_pattern(name).format, ("low", "high")))
            for name in ("", *words)
        }
        roles = dict(zip(("estimate", "low", "high"), columns.pop(""), strict=True))
        roles |= {name: scale.test_column(name) for name in ("standard_error", "dof")}
        roles["n"] = scale.count.format(unit)
        variants = {name: Variant(words[name], names) for name, names in columns.items()}
        level = f"{100 * (1 - 2 * self.alpha):g} % t interval"
        return EstimateQuery(result, where, roles, level, variants)

    @property
    def checked_quantities(self) -> list[str]:
        """Names of the quantities that manipulation checks read, sorted."""
        checks = [check for check in self.checks if check.result == QUANTITIES]
        return sorted(str(name) for check in checks for name in check.where["quantity"])

    @property
    def default_where(self) -> dict[str, Value]:
        """Column -> value, for columns that a manipulation check does not name."""
        values = DEFAULTS | {"task": self.task}
        if not self.quantity:
            values |= {"estimand": self.estimand} | ({} if self.by_pairs else {"pair": self.pair})
        return values

    def compares(self, keys: Mapping[str, Any]) -> bool:
        """Whether it compares the condition with these values of key columns."""
        where = self.default_where | dict(self.conditions)
        where.pop("estimand", None)
        return keys["learner"] in self.minus and where.items() <= keys.items()


def check_columns(registration: Registration, columns: Mapping[str, Collection[str]]) -> None:
    """Refuse (OrlaError) a result or column that is not among `columns`, result -> columns."""
    place = f"registration {registration.name}"
    for result, names in registration.required_columns:
        if result not in columns:
            raise OrlaError(
                f'{place}: there is no result "{result}"; {nearest_hint(result, columns)}'
            )
        for name in names:
            if name not in columns[result]:
                near = nearest_hint(name, columns[result])
                raise OrlaError(f'{place}: result "{result}" has no column "{name}"; {near}')


def check_primary(place: str, registrations: Iterable[Registration], study: str) -> None:
    """Refuse (OrlaError) a study with registrations of which not exactly one is primary.

    `place` says in the error where all are from.
    """
    claims = [each for each in registrations if study in each.studies]
    primary = [each.name for each in claims if each.primary]
    if claims and len(primary) != 1:
        has = f"has {len(primary)} primary registrations ({', '.join(primary) or 'none'})"
        raise OrlaError(f'{place}: study "{study}" {has}; exactly one must be primary')
