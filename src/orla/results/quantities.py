"""One row a named quantity of the config: its value over seeds or pairs, with its intervals."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings, Statistic
from orla.results.quantity import Found, found_of
from orla.results.shared import finite_mean
from orla.statistics import resampling
from orla.statistics.bootstrap import rank_correlation
from orla.statistics.means import Moments, moments, t_interval
from orla.statistics.permutation import spearman_p
from orla.study.quantities import PAIRS, SEEDS, Quantity, quantity_of


class Quantities(Statistic, name="quantities"):
    """Sums and rank correlations that the config names, such as those that are registered.

    A sum is formed seed by seed; its standard error is the larger of that over units and that of
    resampling units through the choice of each condition's rate. That of a correlation is the
    second alone. Source: docs/protocol.md, Units, estimands, intervals.
    """

    columns: ClassVar[dict[str, str]] = {
        "quantity": "Its name in the config.",
        "label": "What it is.",
        "scale": "Its unit of measurement; empty for none.",
        "unit": 'Unit of replication: "seed" or "pair".',
        "estimand": 'By which choice of the rate models are taken: "heldout", "stable" or "adapt".',
        "value": "Mean over units of the sum, or the rank correlation.",
        "sd": "Standard deviation over units; null for a correlation along units.",
        "standard_error": "Its standard error.",
        "dof": "Degrees of freedom of the standard error: units - 1.",
        "t90_low": "Lower end of the 1 - 2 alpha t interval, 90 % at alpha 0.05.",
        "t90_high": "Upper end of that interval.",
        "t95_low": "Lower end of the 95 % t interval.",
        "t95_high": "Upper end of that interval.",
        "permutation_p": "Two-sided permutation p of a correlation along seeds or pairs.",
        "n_pairs": "Pairs with a value; 1 for a task without pairs.",
        "n_without_meaning": "Pairs without one, because recovery has no meaning there.",
        "n_seeds": "Seeds with a finite value, in the pair that has the fewest, also of those "
        "without one.",
        "n_diverged": "Seeds of all pairs, those without a value included, of which a model "
        "diverged.",
        "other_rate_share": "Share of resamples in which a condition chooses another rate: that of "
        "the condition where it is largest, averaged over pairs.",
        "n_failing": "Pairs with guards, those without a value included.",
        "value_without_failing": "The value over the pairs without guards.",
        "t90_low_without_failing": "Lower end of its 1 - 2 alpha t interval.",
        "t90_high_without_failing": "Upper end of that interval.",
        "alpha": "Level of each one-sided test.",
        "guards": "Reasons not to rely on the row, each with what to do; of pairs, each named.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            _row(quantity_of(name, given), models, settings)
            for name, given in settings.quantities.items()
        ]
        return pd.DataFrame(rows, columns=list(self.columns))


def _row(quantity: Quantity, models: pd.DataFrame, settings: Settings) -> dict[str, Any]:
    row: dict[str, Any] = {"quantity": quantity.name, "alpha": settings.alpha}
    row |= {name: getattr(quantity, name) for name in ("label", "scale", "unit", "estimand")}
    found, missing = found_of(quantity, models, settings)
    pairs = [pair for pair in found if pair.has_meaning]
    sound = [pair for pair in pairs if not pair.guards]
    several = len(found) > 1
    guards = [f"{p.name}: {p.guards}" if several else p.guards for p in found if p.guards]
    row |= {
        "n_pairs": len(pairs),
        "n_without_meaning": len(found) - len(pairs),
        "n_seeds": min((int(np.isfinite(p.values).sum()) for p in found), default=0),
        "n_diverged": sum(p.n_diverged for p in found),
        "n_failing": len(found) - len(sound),
        "guards": missing or "; ".join(guards),
    }
    if not pairs:
        return row
    row["other_rate_share"] = finite_mean(np.array([p.other_rate_share for p in pairs]))
    row |= _estimate(quantity, pairs, settings)
    row |= {f"{n}_without_failing": np.nan for n in ("value", "t90_low", "t90_high")}
    if quantity.unit == "pair" and len(sound) > 1:
        again = _estimate(quantity, sound, settings)
        row |= {f"{n}_without_failing": again[n] for n in ("value", "t90_low", "t90_high")}
    return row


def _estimate(quantity: Quantity, pairs: list[Found], settings: Settings) -> dict[str, Any]:
    """Value, scatter, standard error and intervals over these pairs."""
    if quantity.unit == "pair":
        value, error = _over_pairs(quantity, pairs, settings)
    else:
        value, error = _over_seeds(quantity, pairs[0], settings)
    narrow = t_interval(value.mean, error, value.dof, 1 - 2 * settings.alpha)
    wide = t_interval(value.mean, error, value.dof)
    names = "t90_low", "t90_high", "t95_low", "t95_high"
    found = {"value": value.mean, "sd": value.sd, "standard_error": error, "dof": value.dof}
    found |= dict(zip(names, (*narrow, *wide), strict=True))
    return found | {"permutation_p": _permutation_p(quantity, pairs, settings)}


def _over_seeds(quantity: Quantity, one: Found, settings: Settings) -> tuple[Moments, float]:
    seeds = len(one.values)
    value = moments(one.values)
    if quantity.along:
        value = Moments(value.n, one.estimate, np.nan)
    if seeds < 2:
        return value, np.nan
    drawn = resampling.draws(seeds, settings.resamples, settings.seed)
    resampled = one.resampled(drawn.different)[drawn.index]
    return value, float(np.fmax(value.standard_error, resampling.spread(resampled, value.n)))


def _over_pairs(
    quantity: Quantity, pairs: list[Found], settings: Settings
) -> tuple[Moments, float]:
    if len(pairs) < 2:
        return moments([p.estimate for p in pairs]), np.nan
    counts = tuple(len(pair.values) for pair in pairs)
    nested = resampling.nested_draws(counts, settings.resamples, settings.seed)
    if quantity.along == PAIRS:
        rho, resampled = _along_pairs(pairs, nested)
        value = Moments(len(pairs), rho, np.nan)
    else:
        value = moments([pair.estimate for pair in pairs])
        each = [p.resampled(d) for p, d in zip(pairs, nested.different, strict=True)]
        resampled = resampling.nested_means(nested, each)
    return value, float(np.fmax(value.standard_error, resampling.spread(resampled, value.n)))


def _along_pairs(pairs: list[Found], nested: resampling.NestedDraws) -> tuple[float, np.ndarray]:
    """Correlation over pairs of their means of both sides, and that of each resample."""
    sides = []
    for side in (0, 1):
        each = [p.side_means(side, d) for p, d in zip(pairs, nested.different, strict=True)]
        table = np.full((len(pairs), max(map(len, each))), np.nan)
        for row, means in zip(table, each, strict=True):
            row[: len(means)] = means
        sides.append(table[nested.pair, nested.seeds])
    means = [[finite_mean(p.sides[side]) for p in pairs] for side in (0, 1)]
    return float(rank_correlation(*means)), rank_correlation(*sides)


def _permutation_p(quantity: Quantity, pairs: list[Found], settings: Settings) -> float:
    if quantity.along == SEEDS:
        x, y = pairs[0].sides
    elif quantity.along == PAIRS:
        x, y = (np.array([finite_mean(p.sides[side]) for p in pairs]) for side in (0, 1))
    else:
        return np.nan
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 2:
        return np.nan
    return spearman_p(x[known], y[known], seed=settings.seed, resamples=settings.resamples)
