"""A named quantity on one pair of sessions: by seed, and in resamples of seeds and rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.results import guards, shared
from orla.results.base import Settings
from orla.results.estimands import ESTIMANDS
from orla.results.grids import Grid, Side, grids, side
from orla.schema import nearest
from orla.statistics import choice, resampling
from orla.statistics.bootstrap import rank_correlation
from orla.statistics.means import moments
from orla.study.keys import KEYS
from orla.study.quantities import PAIRS, SEEDS, Quantity, Terms

_OF_RECOVERY = "recovery_"


@dataclass(frozen=True, eq=False)
class Found:
    """A quantity on one pair.

    Attributes:
        name: the pair; "" for a task without pairs.
        values: (seeds,) the sum of each seed; for a correlation of each seed along conditions that
            seed's own correlation, for one along seeds or pairs the sums of `y`.
        sides: (x, y), (seeds,) each, of a correlation along seeds or pairs.
        estimate: the value on this pair.
        resampled: draws (resamples, seeds) -> the value in each resample, (resamples,).
        side_means: (0 for x or 1 for y, draws) -> mean of that side in each resample.
        n_diverged: seeds of which a model diverged.
        other_rate_share: the largest share of resamples in which a condition chooses another rate.
        guards: reasons not to rely on it; empty without any.
        has_meaning: whether its recoveries, where it has some, say anything.
    """

    name: str
    values: np.ndarray
    sides: tuple[np.ndarray, np.ndarray]
    estimate: float
    resampled: Callable[[np.ndarray], np.ndarray]
    side_means: Callable[[int, np.ndarray], np.ndarray]
    n_diverged: int
    other_rate_share: float
    guards: str
    has_meaning: bool


def found_of(
    quantity: Quantity, models: pd.DataFrame, settings: Settings
) -> tuple[list[Found], str]:
    """The quantity on each pair, or what was not run.

    Raises:
        OrlaError: A column is not in the table of models, or as in `grids`.
    """
    for term in quantity.terms:
        if term.column not in models:
            raise OrlaError(
                f"quantity {quantity.name}: the table of models has no column {term.column}; "
                f"{nearest(term.column, models.columns)}"
            )
    wanted = [dict(term.where) for term in quantity.terms]
    kept = models[_any_of(models, wanted)]
    if quantity.pair:
        kept = kept[kept["pair"] == quantity.pair]
    columns = tuple(dict.fromkeys(term.column for term in quantity.terms))
    by_pair: dict[str, dict[tuple, Grid]] = {}
    for grid in grids(kept, columns):
        by_pair.setdefault(grid.key["pair"], {})[_key(grid.key)] = grid
    for where in wanted:
        having = [pair for pair, run in by_pair.items() if _key(where) in run]
        if not having or len(having) < len(by_pair):
            return [], f"{shared.name_of(where)} was not run: run it on every pair"
    if quantity.unit == "seed" and len(by_pair) > 1:
        return [], "several pairs were run: name one, or make the pair the unit"
    return [_found(quantity, pair, by_pair[pair], settings) for pair in sorted(by_pair)], ""


def _key(where: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(where[name] for name in KEYS if name != "pair")


def _any_of(models: pd.DataFrame, wanted: list[dict[str, str]]) -> np.ndarray:
    names = [name for name in KEYS if name != "pair"]
    keys = pd.MultiIndex.from_frame(models[names])
    return keys.isin([_key(where) for where in wanted])


def _found(quantity: Quantity, pair: str, run: Mapping[tuple, Grid], settings: Settings) -> Found:
    grids_of = [run[_key(term.where)] for term in quantity.terms]
    seeds = grids_of[0].seeds
    for grid in grids_of:
        seeds = np.intersect1d(seeds, grid.seeds)
    sides: dict[tuple, Side] = {}
    for term, grid in zip(quantity.terms, grids_of, strict=True):
        chosen = side(grid.of(seeds), ESTIMANDS[quantity.estimand])
        if chosen is None:
            raise OrlaError(f"{shared.name_of(grid.key)}: no rate is chosen; run the sweep again")
        sides[_key(term.where)] = chosen

    def sums(terms: Terms, draws: np.ndarray | None = None) -> np.ndarray:
        """The sum of each seed (seeds,), or of each resample's seeds (resamples, seeds)."""
        total: np.ndarray | float = 0.0
        for term in terms:
            of = sides[_key(term.where)]
            values = of.values(term.column)
            values = np.abs(values) if term.absolute else values
            if draws is None:
                total = total + term.times * values[:, of.marked]
            else:
                total = total + term.times * choice.at_rates(values, draws, of.choices(draws))
        return np.asarray(total)

    def value(draws: np.ndarray | None) -> np.ndarray:
        y = [sums(terms, draws) for terms in quantity.y]
        if not quantity.along or quantity.along == PAIRS:
            return choice.finite_means(y[0])
        x = [sums(terms, draws) for terms in quantity.x]
        if quantity.along == SEEDS:
            return _known(x[0], y[0])
        means = np.stack([choice.finite_means(each) for each in y], -1)
        if not x:
            return _known(np.broadcast_to(np.arange(len(y)), means.shape), means)
        return _known(np.stack([choice.finite_means(each) for each in x], -1), means)

    of_seeds = sums(quantity.y[0])
    if quantity.along not in ("", SEEDS, PAIRS):
        # A seed counts where it has every sum.
        of_seeds = np.sum([sums(terms) for terms in (*quantity.y, *quantity.x)], axis=0)
    other = sums(quantity.x[0]) if quantity.x else np.full(len(seeds), np.nan)
    diverged = np.any([s.diverged[:, s.marked] for s in sides.values()], axis=0)
    share = _other_rates(list(sides.values()), seeds, settings)
    read = {_key(t.where) for t in quantity.terms if t.column.startswith(_OF_RECOVERY)}
    of_recovery = [sides[key] for key in sides if key in read]
    return Found(
        name=pair,
        values=of_seeds,
        sides=(other, of_seeds),
        estimate=float(value(None)),
        resampled=value,
        side_means=lambda which, draws: choice.finite_means(
            sums((quantity.x, quantity.y)[which][0], draws)
        ),
        n_diverged=int(diverged.sum()),
        other_rate_share=share,
        guards=_guards(list(sides.values()), of_recovery, share, settings),
        has_meaning=not any(guards.denominator_fails(*_denominator(s)) for s in of_recovery),
    )


def _known(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank correlations along the last axis; NaN where a value is missing."""
    finite = (np.isfinite(x) & np.isfinite(y)).all(-1)
    rho = rank_correlation(np.where(np.isfinite(x), x, 0.0), np.where(np.isfinite(y), y, 0.0))
    return np.where(finite, rho, np.nan)


def _other_rates(sides: list[Side], seeds: np.ndarray, settings: Settings) -> float:
    if len(seeds) < 2:
        return np.nan
    drawn = resampling.draws(len(seeds), settings.resamples, settings.seed)
    return max(float(s.other_rates(drawn).sum()) for s in sides)


def _guards(sides: list[Side], of_recovery: list[Side], share: float, settings: Settings) -> str:
    """Those of an estimate; the ones about recovery of the conditions whose recovery is a term."""
    told = {
        "updates": min(shared.finite_mean(s.at_marked("updates")) for s in sides),
        "other_rate_share": share,
        "margin_pp": float(settings.margin_pp),
    }
    if not of_recovery:
        none = {"price_pp": 0.0, "frozen_error": 0.0, "constant_error": 0.0}
        return guards.reasons(**told, **none, denominator=np.inf, denominator_se=0.0)
    told["price_pp"] = max(abs(s.price) for s in sides)
    found: dict[str, None] = {}
    for condition in of_recovery:
        denominator, error = _denominator(condition)
        text = guards.reasons(
            **told,
            frozen_error=shared.finite_mean(condition.at_marked("frozen_heldout_error")),
            constant_error=shared.finite_mean(condition.at_marked("constant_error")),
            denominator=denominator,
            denominator_se=error,
        )
        found |= dict.fromkeys(text.split("; ") if text else ())
    return "; ".join(found)


def _denominator(of: Side) -> tuple[float, float]:
    """Mean and standard error of the denominator of recovery."""
    found = moments(of.denominator)
    return found.mean, found.standard_error
