"""Named quantities of the config: on one pair of sessions by seed, and over seeds or pairs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.results import guards
from orla.results.base import Settings, Statistic
from orla.results.estimands import ESTIMANDS
from orla.results.grids import Grid, Side, condition_grids, condition_name, marked_side
from orla.results.summary import end_columns
from orla.schema import nearest_hint
from orla.statistics.means import Moments, moments, t_interval
from orla.statistics.ranks import rank_correlation, spearman_p
from orla.statistics.resampling import (
    draw_resamples,
    finite_means,
    resampled_standard_error,
    values_at_rates,
)
from orla.study.keys import KEYS
from orla.study.quantities import PAIRS, SEEDS, Quantity, Term, parse_quantity

Where = tuple[str, ...]
_KEYS = [name for name in KEYS if name != "pair"]
_RUNNER_UP = "condition at the runner-up of its rates"


def _value_columns(variant: str, text: str) -> dict[str, str]:
    return {f"value_{variant}": f"The value {text}.", **end_columns(f"t90_{{}}_{variant}")}


class Quantities(Statistic, name="quantities"):
    """Sums and rank correlations that the config names, such as those that are registered.

    A sum is formed seed by seed. Its standard error over pairs is that of the pairs' means; over
    seeds, which share a choice of the rate, it is the larger of that over seeds and that of
    resampling them through the choice. That of a correlation is by resampling alone.
    Source: docs/protocol.md, Estimands and Statistics.
    """

    columns: ClassVar[dict[str, str]] = {
        "quantity": "Its name in the config.",
        "label": "What it is.",
        "scale": "Its unit of measurement; empty for none.",
        "unit": 'Unit of replication: "seed" or "pair".',
        "estimand": 'By which choice of the rate models are taken: "heldout", "stable" or "adapt".',
        "value": "Mean over units of the sum, or the rank correlation.",
        "sd": "Standard deviation over units; null for a correlation along units.",
        "standard_error": "Its standard error: of the values of seeds or pairs; over seeds the "
        "larger of that and one from resamples of seeds that choose the rates anew.",
        "dof": "Degrees of freedom of the standard error: units - 1.",
        **end_columns("t90_{}"),
        **end_columns("t95_{}"),
        "permutation_p": "Two-sided permutation p of a correlation along seeds or pairs.",
        "n_pairs": "Pairs with a value; 1 for a task without pairs.",
        "n_without_meaning": "Pairs without one, because recovery has no meaning there.",
        "n_seeds": "Seeds with a finite value, in the pair that has the fewest, also of those "
        "without one.",
        "n_diverged": "Seeds of all pairs, those without a value included, of which a model "
        "diverged.",
        "n_failing": "Pairs with guards, those without a value included.",
        **_value_columns("without_failing", "over the pairs without guards"),
        **_value_columns("runner_up_lowest", f"with one {_RUNNER_UP}, of these the lowest"),
        **_value_columns("runner_up_highest", f"with one {_RUNNER_UP}, of these the highest"),
        "alpha": "Level of each one-sided test.",
        "guards": "Reasons not to rely on the row, each with what to do; of pairs, each named.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [_quantity_row(quantity, models, settings) for quantity in _quantities(settings)]
        return pd.DataFrame(rows, columns=list(self.columns))


class QuantitiesPerPair(Statistic, name="quantity_pairs"):
    """The value of each quantity that is a mean over pairs, on each of its pairs."""

    columns: ClassVar[dict[str, str]] = {
        "quantity": Quantities.columns["quantity"],
        "pair": "The pair of sessions.",
        "value": "Mean over its seeds of the sum, or the correlation.",
        "guards": "Reasons not to rely on it; empty without any.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            (quantity.name, pair.name, float(pair.value()), pair.guards)
            for quantity in _quantities(settings)
            if quantity.unit == "pair" and quantity.along != PAIRS
            for pair in _pair_quantities(quantity, models)[0]
            if pair.recovery_has_meaning
        ]
        return pd.DataFrame(rows, columns=list(self.columns))


def _quantities(settings: Settings) -> Iterator[Quantity]:
    return (parse_quantity(*item) for item in settings.quantities.items())


@dataclass(frozen=True, eq=False)
class _PairQuantity:
    """A quantity on one pair of sessions ("" for none), over the seeds that all its conditions ran.

    sides: condition -> its models.
    """

    quantity: Quantity
    name: str
    sides: Mapping[Where, Side]

    def x_and_y(self, draws: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The sums of measures that are x and y of the quantity: (sums, seeds) each.

        With `draws` those of each resample, (sums, resamples, seeds).
        """

        def measure(term: Term) -> np.ndarray:
            side = self.sides[_condition_key(term.where)]
            values = side.at_rate(term.column)
            if draws is not None:
                rates = side.resampled_rate_indices(draws)
                values = values_at_rates(side.values(term.column), draws, rates)
            return term.times * (np.abs(values) if term.absolute else values)

        sides = self.quantity.x, self.quantity.y
        return tuple(np.array([sum(map(measure, terms)) for terms in side]) for side in sides)

    def value(self, draws: np.ndarray | None = None) -> np.ndarray:
        """The quantity with all seeds, or in each resample (resamples, seeds) of seeds and rates.

        Along pairs it is the mean of `y`.
        """
        x, y = self.x_and_y(draws)
        if self.quantity.along in ("", PAIRS):
            return finite_means(y[0])
        if self.quantity.along == SEEDS:
            return rank_correlation(x[0], y[0])
        means = np.moveaxis(finite_means(y), 0, -1)
        order = np.moveaxis(finite_means(x), 0, -1) if len(x) else np.arange(len(y))
        return rank_correlation(np.broadcast_to(order, means.shape), means)

    @cached_property
    def seed_values(self) -> np.ndarray:
        """The sum of each seed (seeds,); along conditions a number where each of them has one."""
        x, y = self.x_and_y()
        return y[0] if self.quantity.along in ("", SEEDS, PAIRS) else sum((*y, *x))

    @property
    def n_diverged(self) -> int:
        """Seeds of which a model diverged."""
        return int(np.any([side.diverged for side in self.sides.values()], axis=0).sum())

    @cached_property
    def recovery_has_meaning(self) -> bool:
        """Whether its recoveries, where it has some, say anything."""
        terms = (t for t in self.quantity.terms if t.column.startswith("recovery_"))
        return all(self.sides[_condition_key(term.where)].recovery_has_meaning for term in terms)

    @cached_property
    def guards(self) -> str:
        """Reasons not to rely on the quantity on this pair."""
        errors = ("reference_error", "constant_error")
        texts = (guards.reasons([s.rate_search], *map(s.mean, errors)) for s in self.sides.values())
        return "; ".join(dict.fromkeys(r for text in texts for r in text.split("; ") if r))


def _pair_quantities(quantity: Quantity, models: pd.DataFrame) -> tuple[list[_PairQuantity], str]:
    """The quantity on each pair, or what was not run.

    Raises:
        OrlaError: A column is not in the table of models, or as in `condition_grids`.
    """
    for term in quantity.terms:
        if term.column not in models:
            raise OrlaError(
                f"quantity {quantity.name}: the table of models has no column {term.column}; "
                f"{nearest_hint(term.column, models.columns)}"
            )
    by_key = {_condition_key(term.where): term.where for term in quantity.terms}
    rows = models[pd.MultiIndex.from_frame(models[_KEYS]).isin(list(by_key))]
    if quantity.pair:
        rows = rows[rows["pair"] == quantity.pair]
    by_pair: dict[str, dict[Where, Grid]] = {}
    for grid in condition_grids(rows, {term.column: None for term in quantity.terms}):
        by_pair.setdefault(grid.key["pair"], {})[_condition_key(grid.key)] = grid
    for key, where in by_key.items():
        if not by_pair or any(key not in run for run in by_pair.values()):
            return [], f"{condition_name(dict(where))} was not run: run it on every pair"
    if quantity.unit == "seed" and len(by_pair) > 1:
        return [], "several pairs were run: name one, or make the pair the unit"
    pairs = []
    for pair, run in sorted(by_pair.items()):
        seeds = np.array(sorted(set.intersection(*({*run[key].seeds} for key in by_key))))
        sides = {}
        for key in by_key:
            sides[key] = marked_side(run[key].take(seeds), ESTIMANDS[quantity.estimand])
            if sides[key] is None:
                name = condition_name(run[key].key)
                raise OrlaError(f"{name}: no rate is chosen; run the sweep again")
        pairs.append(_PairQuantity(quantity, pair, sides))
    return pairs, ""


def _condition_key(where: Mapping[str, str]) -> Where:
    """The values of a condition's key columns but the pair."""
    return tuple(where[name] for name in _KEYS)


def _quantity_row(quantity: Quantity, models: pd.DataFrame, settings: Settings) -> dict[str, Any]:
    """A quantity's row: its value over seeds or pairs, with its variants and guards."""
    every, absence = _pair_quantities(quantity, models)
    pairs = [pair for pair in every if pair.recovery_has_meaning]
    sound = [pair for pair in pairs if not pair.guards]
    reasons = [f"{p.name}: {p.guards}" if len(every) > 1 else p.guards for p in every if p.guards]
    row = {
        "quantity": quantity.name,
        **{name: getattr(quantity, name) for name in ("label", "scale", "unit", "estimand")},
        "n_pairs": len(pairs),
        "n_without_meaning": len(every) - len(pairs),
        "n_seeds": min((int(np.isfinite(p.seed_values).sum()) for p in every), default=0),
        "n_diverged": sum(p.n_diverged for p in every),
        "n_failing": len(every) - len(sound),
        "alpha": settings.alpha,
        "guards": absence or "; ".join(reasons),
    }
    if pairs:
        row |= _estimate(quantity, pairs, settings)
        others = [_estimate(quantity, other, settings) for other in _with_runner_up(pairs)]
        for end, best in (("lowest", min), ("highest", max)):
            if others:
                row |= _variant_columns(best(others, key=lambda e: e["value"]), f"runner_up_{end}")
    if quantity.unit == "pair" and len(sound) > 1:
        row |= _variant_columns(_estimate(quantity, sound, settings), "without_failing")
    return row


def _with_runner_up(pairs: list[_PairQuantity]) -> Iterator[list[_PairQuantity]]:
    """The pairs with one condition at its runner-up, where that is another in some pair."""
    for key in pairs[0].sides:
        others = [pair.sides[key].at_runner_up for pair in pairs]
        if any(other is not pair.sides[key] for other, pair in zip(others, pairs, strict=True)):
            yield [
                replace(pair, sides={**pair.sides, key: other})
                for other, pair in zip(others, pairs, strict=True)
            ]


def _variant_columns(estimate: Mapping[str, Any], variant: str) -> dict[str, Any]:
    return {f"{name}_{variant}": estimate[name] for name in ("value", "t90_low", "t90_high")}


def _estimate(quantity: Quantity, pairs: list[_PairQuantity], settings: Settings) -> dict[str, Any]:
    """Value, scatter, standard error, intervals and permutation p over these pairs."""
    how, first = (settings.resamples, settings.seed), pairs[0]
    distribution, p = np.empty(0), np.nan
    value = moments([pair.value() for pair in pairs])
    if quantity.unit == "seed":
        value = moments(first.seed_values)
        if quantity.along:
            value = Moments(value.n, float(first.value()), np.nan)
        if len(first.seed_values) > 1:
            draws = draw_resamples(len(first.seed_values), *how)
            distribution = first.value(draws.different)[draws.index]
    if quantity.along in (SEEDS, PAIRS):
        sides = np.concatenate(first.x_and_y())
        if quantity.along == PAIRS:
            sides = np.array([finite_means(np.concatenate(pair.x_and_y())) for pair in pairs]).T
            if len(pairs) > 1:
                value = Moments(len(pairs), float(rank_correlation(*sides)), np.nan)
                draws = draw_resamples(len(pairs), *how)
                distribution = rank_correlation(*sides[:, draws.different])[draws.index]
        finite = sides[:, np.isfinite(sides).all(0)]
        if finite.shape[1] > 1:
            p = spearman_p(*finite, seed=settings.seed, n_permutations=settings.resamples)
    error = float(np.fmax(value.standard_error, resampled_standard_error(distribution, value.n)))
    narrow = t_interval(value.mean, error, value.dof, 1 - 2 * settings.alpha)
    wide = t_interval(value.mean, error, value.dof)
    ends = *end_columns("t90_{}"), *end_columns("t95_{}")
    return {
        "value": value.mean,
        "sd": value.sd,
        "standard_error": error,
        "dof": value.dof,
        **dict(zip(ends, (*narrow, *wide), strict=True)),
        "permutation_p": p,
    }
