"""A registration: what will be read of the results and the rule that judges it, written before."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg.region import Region
from orla.prereg.rules.base import MeanRule, Rule
from orla.results.scales import PP, SCALES, WAYS, Scale
from orla.schema import nearest
from orla.study.keys import DEFAULTS, SETTING

Value = str | float | int | bool

PAIR, SEED = "pair", "seed"
RESULT = {PAIR: "over_pairs", SEED: "estimates"}
"""Unit -> the result whose row is judged."""
QUANTITIES = "quantities"
"""The result of a registration about a quantity."""

QUANTITY_PAIRS = "quantity_pairs"
"""The result with a quantity's value on each pair."""

QUANTITY = {
    "estimate": "value",
    "standard_error": "standard_error",
    "dof": "dof",
    **{"low": "t90_low", "high": "t90_high"},
}
OTHERS = {
    "without_failing": "without the pairs that fail a guard",
    "runner_up_lowest": "with one condition at the runner-up of its rates",
    "runner_up_highest": "with one condition at the runner-up of its rates",
}
"""Other ways to form a quantity, in words."""
COUNTS = ("n_pairs", "n_without_meaning", "n_seeds", "n_diverged", "n_failing")
_ROW = [
    *(name for name in SETTING if name != "pair"),
    *("comparison", "learner_full", "learner_immediate", "estimand", "alpha", "n_diverged"),
    *("over_best_full_low_percent", "over_best_immediate_low_percent"),
]


def gap_columns(scale: Scale, unit: str) -> dict[str, str]:
    """Role -> column of a gap of one scale over units, in the result of the unit."""
    low, high = (scale.ends().format(end) for end in ("low", "high"))
    errors = {name: scale.column(name) for name in ("standard_error", "dof")}
    return {"estimate": scale.mean(), **errors, "low": low, "high": high} | {
        "n": scale.count.format(unit)
    }


def ways(scale: Scale, unit: str) -> dict[str, tuple[str, str, str]]:
    """Way to form a gap -> columns of its mean and of the ends of its interval."""
    return {
        way: (scale.mean(way), *(scale.ends(way).format(end) for end in ("low", "high")))
        for way in WAYS
        if way and not (way == "without_failing" and unit == SEED)
    }


def quantity_ways() -> dict[str, tuple[str, str, str]]:
    """The same of a quantity."""
    return {way: (f"value_{way}", f"t90_low_{way}", f"t90_high_{way}") for way in OTHERS}


def _read(registration: "Registration") -> dict[str, list[str]]:
    """Result -> columns that are judged."""
    if registration.quantity:
        formed = [column for columns in quantity_ways().values() for column in columns]
        columns = ["quantity", "scale", "unit", *QUANTITY.values(), *COUNTS, "guards", "alpha"]
        by_pair = {QUANTITY_PAIRS: ["quantity", "pair", "value"]}
        return {QUANTITIES: columns + formed} | (by_pair if registration.unit == PAIR else {})
    scale, found = SCALES[registration.scale], {}
    for unit in dict.fromkeys((registration.unit, SEED)):
        of_unit = ["n_failing", scale.count.format(SEED)] if unit == PAIR else ["pair", "guards"]
        if scale is PP and unit == SEED:
            of_unit.append("has_meaning")
        formed = [column for columns in ways(scale, unit).values() for column in columns]
        found[RESULT[unit]] = [*_ROW, *gap_columns(scale, unit).values(), *formed, *of_unit]
    return found


@dataclass(frozen=True)
class Reading:
    """One row of one result, and the rule that its estimate is judged by.

    `columns` holds what is read by its name: estimate, low, high, n, and further ones. `scale` is
    the estimate's unit of measurement, `interval` what its interval is of.
    """

    result: str
    where: Mapping[str, Value]
    columns: Mapping[str, str]
    rule: Rule
    scale: str
    interval: str

    @property
    def names(self) -> list[str]:
        """Every column of the result that is read."""
        return [*self.where, *self.columns.values()]


@dataclass(frozen=True)
class Check:
    """A manipulation check: what must lie in a region, or equal a value, on every row.

    `ends` are one column, or the two ends of an interval that must lie in the region wholly.
    """

    name: str
    why: str
    result: str
    where: Mapping[str, list[Value]]
    ends: tuple[str, ...]
    region: Region | None
    equals: Value | None

    @property
    def names(self) -> list[str]:
        """Every column of the result that is read."""
        return [*self.where, *self.ends]


@dataclass(frozen=True)
class Registration:
    """A registration of any version.

    Attributes:
        name, folder: its file's name without the suffix, and the folder that the file lies in.
        criteria: what is judged in version 1.
        rule, scale: of later versions the claim about the mean gap or the quantity, and its unit
            of measurement.
        seen: what had been seen when it was written, in words.
        conditions: key -> value or values, of the rows that it is about.
        seeds: networks a pair, those that diverged included; of version 1, units.
        least: with fewer finite units it is untestable (version 1).
        studies: names of the configs that it is for; of version 1 (), for any.
        primary: whether it stands alone; the others of a study are a Holm-corrected family.
        quantity: the quantity of the config that it is about, or "" for a gap; then `comparison`
            and `minus` say which.
        must_recover: learners that are to be shown to adapt.
        margin_reason: why a wide margin says something.
        binds: what it binds, as written by ``prereg bind``.
    """

    name: str
    folder: Path
    title: str
    checks: tuple[Check, ...]
    outcomes: Mapping[str, str]
    conditions: Mapping[str, Any]
    seeds: int
    max_diverged: int
    criteria: tuple[Reading, ...] = ()
    rule: MeanRule | None = None
    scale: str = "pp"
    seen: str = ""
    version: int = 3
    least: int = 0
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
    def tested(self) -> bool:
        """Whether a test with a p value judges it; then it belongs to a study and its family."""
        return self.version > 1

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What is judged."""
        if not self.tested:
            return self.criteria
        result = QUANTITIES if self.quantity else RESULT[self.unit]
        if self.quantity:
            columns = QUANTITY | {"n": f"n_{self.unit}s"}
            where: dict[str, Value] = {"quantity": self.quantity}
        else:
            columns = gap_columns(SCALES[self.scale], self.unit)
            where = self.assumed | dict(self.conditions) | {"comparison": self.comparison}
        level = f"{100 * (1 - 2 * self.alpha):g} % t interval"
        return (Reading(result, where, columns, self.rule, self.scale, level),)

    @property
    def reads(self) -> list[tuple[str, list[str]]]:
        """(result, columns) of everything that is read."""
        if self.tested:
            judged = sorted(_read(self).items())
        else:
            judged = [(reading.result, reading.names) for reading in self.criteria]
        return [*judged, *((check.result, check.names) for check in self.checks)]

    @property
    def checked(self) -> list[str]:
        """Names of the quantities that manipulation checks read, sorted."""
        checks = [check for check in self.checks if check.result == QUANTITIES and self.tested]
        return sorted(str(name) for check in checks for name in check.where["quantity"])

    @property
    def assumed(self) -> dict[str, Value]:
        """Column -> value, for columns that a manipulation check does not name."""
        if self.quantity:
            return DEFAULTS | {"task": self.task}
        pair = {"pair": self.pair} if self.unit == SEED else {}
        return DEFAULTS | {"task": self.task, "estimand": self.estimand} | pair


def check_columns(registration: Registration, columns: Mapping[str, Collection[str]]) -> None:
    """Refuse a registration that names a result or a column that does not exist.

    Args:
        registration: The registration.
        columns: Result -> its columns.

    Raises:
        OrlaError: Naming the registration, what it names, and the nearest that exists.
    """
    place = f"registration {registration.name}"
    for result, names in registration.reads:
        if result not in columns:
            raise OrlaError(f'{place}: there is no result "{result}"; {nearest(result, columns)}')
        for name in names:
            if name not in columns[result]:
                raise OrlaError(
                    f'{place}: result "{result}" has no column "{name}"; '
                    f"{nearest(name, columns[result])}"
                )


def check_primary(
    place: str, registrations: Iterable[Registration], studies: Iterable[str] | None = None
) -> None:
    """Refuse a study with registrations that are tested and not exactly one primary.

    Args:
        place: Where they are from, for an error.
        registrations: The registrations; those of version 1 have no say.
        studies: Those that are looked at; all if not given.

    Raises:
        OrlaError: Naming the study and the registrations.
    """
    tested = [each for each in registrations if each.tested]
    named = {study for each in tested for study in each.studies}
    for study in sorted(named if studies is None else named & set(studies)):
        primary = [each.name for each in tested if each.primary and study in each.studies]
        if len(primary) != 1:
            raise OrlaError(
                f'{place}: study "{study}" has {len(primary)} primary registrations '
                f"({', '.join(primary) or 'none'}); exactly one must have primary: true"
            )
