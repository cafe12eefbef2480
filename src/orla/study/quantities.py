"""Named quantities of a config: numbers put together from columns of several conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from orla.errors import OrlaError
from orla.study.condition import SILENT
from orla.study.keys import KEYS

SEEDS, PAIRS = "seeds", "pairs"
STABLE = ("recovery_stable_percent", "heldout_stable_error", "stable_r2_mean")
"""Those of `SCORES` that are means over weights frozen after each of the last windows."""
SCORES = (
    *("recovery_heldout_percent", "recovery_adapt_percent", *STABLE),
    *("heldout_error", "adapt_error", "r2_mean"),
)
"""Columns of every table of models that a quantity may be made of, beside those of probes."""


@dataclass(frozen=True)
class Term:
    """A column of one condition's models, or its absolute value, times a number."""

    column: str
    times: float
    absolute: bool
    where: Mapping[str, str]


Terms = tuple[Term, ...]


@dataclass(frozen=True)
class Quantity:
    """A sum of terms, or the rank correlation of two such terms_at_each_value.

    Attributes:
        scale: its unit of measurement; "" for none.
        unit: "seed" or "pair", the unit of replication.
        estimand: by which choice of the rate models are taken.
        pair: the pair of sessions; "" for all pairs of the task, or a task without pairs.
        along: of a correlation: "seeds", "pairs", or the key column that it runs along; else "".
        y: the sums, one an entry that the correlation runs along; a sum alone is the first.
        x: the sums on the other side of a correlation; () for the order of `y`.
    """

    name: str
    label: str
    scale: str
    unit: str
    estimand: str
    pair: str
    along: str
    y: tuple[Terms, ...]
    x: tuple[Terms, ...] = ()

    @property
    def terms(self) -> Iterator[Term]:
        return chain.from_iterable((*self.y, *self.x))


def parse_quantity(name: str, entry: Mapping[str, Any]) -> Quantity:
    """A quantity from its entry in a config that fits the schema."""
    place = f'config: "quantities.{name}"'
    at, rank = dict(entry.get("at", {})), entry.get("rank", {})
    pair, unit, along = at.pop("pair", ""), entry.get("unit", "seed"), rank.get("along", "")
    values: list[Mapping[str, str]] = [{}]
    if isinstance(along, Mapping):
        [(along, names)] = along.items()
        values = [{along: name_along} for name_along in names]
    elif along in (PAIRS, SEEDS) and along != f"{unit}s":
        raise OrlaError(f"{place}: a rank along {along} has unit: {along[:-1]}; correct one")
    elif along and "with" not in rank:
        raise OrlaError(f'{place}: a rank along {along} needs "with"; add its other side')
    if pair and unit == "pair":
        raise OrlaError(f"{place}: with unit pair all pairs count; remove at.pair")

    def terms_at_each_value(terms: list[Mapping[str, Any]]) -> tuple[Terms, ...]:
        return tuple(
            tuple(_parse_term(place, {**at, **value}, term) for term in terms) for value in values
        )

    return Quantity(
        name=name,
        label=entry["label"],
        scale=entry.get("scale", ""),
        unit=unit,
        estimand=entry.get("estimand", "heldout"),
        pair=pair,
        along=along,
        y=terms_at_each_value(entry["sum"]),
        x=terms_at_each_value(rank["with"]) if "with" in rank else (),
    )


def _parse_term(place: str, at: Mapping[str, str], entry: Mapping[str, Any]) -> Term:
    where = SILENT | dict(at) | dict(entry)
    if {"plus", "minus"} <= where.keys():
        raise OrlaError(f"{place}: a term has both plus and minus; write two terms")
    sign, column = (1.0, where["plus"]) if "plus" in where else (-1.0, where["minus"])
    keys = [key for key in KEYS if key != "pair"]
    for key in keys:
        if key not in where:
            raise OrlaError(f'{place}: the term of {column} names no {key}; add it under "at"')
    times, absolute = where.get("times", 1.0), where.get("absolute", False)
    return Term(column, sign * times, absolute, {key: where[key] for key in keys})
