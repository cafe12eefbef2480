"""The gap of two learners over the seeds of a pair of sessions, and over pairs, by estimand."""

from dataclasses import astuple
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from orla.results import guards
from orla.results.base import Settings, Statistic
from orla.results.contrasts import COMPARED, Contrast, contrasts
from orla.results.estimands import TEXT
from orla.results.grids import Key, finite_mean
from orla.results.summary import TEST, ends, equivalence, mean
from orla.statistics import resampling
from orla.statistics.means import Moments, moments, prediction_interval
from orla.statistics.mixed import random_intercept
from orla.study.keys import SETTING

_AT = [*COMPARED, "estimand"]
_WITHOUT_PAIR = {name: text for name, text in SETTING.items() if name != "pair"}
_FROZEN = mean(
    "gap_frozen_pp",
    "Gap with diverged models scored as the frozen network",
    t90="t90_{}_frozen_pp",
)
_MEANS = (
    mean("r2_gap", "Mean difference of R2 (mean over outputs)", t95="r2_t95_{}"),
    mean("error_gap", "Mean difference of error", t95="error_t95_{}"),
    mean(
        "recovery_full_percent",
        "Mean recovery of the learner that is subtracted from",
        t95="recovery_full_{}_percent",
    ),
    mean(
        "recovery_immediate_percent",
        "Mean recovery of the learner that is subtracted",
        t95="recovery_immediate_{}_percent",
    ),
)
_OF_MEANS = {column: text for cell in _MEANS for column, text in cell.texts.items()}


def _resampled(what: str = "units") -> dict[str, str]:
    """Columns of the intervals by resampling."""
    interval = f"the 95 % interval by resampling {what} (expanded percentiles)"
    return ends("resampled_{}_pp", interval) | ends("resampled_90_{}_pp", "the same at 1 - 2 alpha")


class Estimates(Statistic, name="estimates"):
    """Gap between two learners over the seeds of one pair, with its guards, at every estimand.

    Seeds are repeats within a pair: these intervals are about further networks on the same two
    sessions. Source: docs/protocol.md, Estimands and Statistics.
    """

    columns: ClassVar = {
        **SETTING,
        **COMPARED,
        "estimand": TEXT,
        "n_seeds": "Seeds with a finite gap.",
        "n_diverged": "Seeds in which either learner diverged.",
        "gap_pp": "Mean over seeds of the difference of recovery (pp).",
        **TEST,
        **_resampled("seeds through the choice of both rates"),
        "other_rate_share": "Share of resamples that choose another rate, the larger of both"
        " learners'.",
        "price_pp": "Recovery at the rate chosen on the scored steps minus at the chosen one, of"
        " the learner where it is larger (pp).",
        **_FROZEN.texts,
        **_OF_MEANS,
        "updates": "Updates of a model, the fewer of both learners'.",
        "denominator": "Mean over seeds of frozen minus reference error.",
        "denominator_se": "Its standard error over seeds.",
        "frozen_error": "Mean held-out error of the networks that do not adapt.",
        "constant_error": "Held-out error of the best constant prediction.",
        "has_meaning": "Whether recovery says anything: its denominator is clear, and the frozen"
        " network no worse than the best constant prediction.",
        "guards": "Reasons not to rely on the row, each with what to do; empty without any.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [_over_seeds(contrast, settings) for contrast in contrasts(models, settings)]
        return pd.DataFrame(rows, columns=list(self.columns))


def _over_seeds(contrast: Contrast, settings: Settings) -> dict[str, Any]:
    seeds, scores = len(contrast.seeds), contrast.scores() | {"gap_frozen_pp": contrast.gap_frozen}
    gap = moments(scores["gap_pp"])
    resampled, share = np.empty(0), np.nan
    if seeds > 1:
        drawn = resampling.draws(seeds, settings.resamples, settings.seed)
        resampled = contrast.resampled(drawn.different)[drawn.index]
        share = max(side.other_rate_share(drawn) for side in contrast.sides)
    row = contrast.key | {
        "n_seeds": gap.n,
        "n_diverged": int(scores["diverged"].sum()),
        "gap_pp": gap.mean,
        **equivalence(gap, gap.standard_error, settings),
        **_percentiles(resampled, gap.n, settings),
        "price_pp": max(
            (s.price for s in contrast.sides), key=lambda p: np.nan_to_num(abs(p), nan=-1)
        ),
    }
    for cell in (_FROZEN, *_MEANS):
        row |= cell.made(scores.__getitem__, settings)
    meaning = contrast.full.meaning()
    told = {
        "updates": min(side.mean("updates") for side in contrast.sides),
        "other_rate_share": share,
    }
    reasons = guards.reasons(
        **told, price_pp=row["price_pp"], margin_pp=float(settings.margin_pp), **meaning
    )
    if guards.denominator_fails(meaning["denominator"], meaning["denominator_se"]):
        of_recovery = {c for c in row if c.endswith(("_pp", "_percent"))} - {"margin_pp"}
        row |= dict.fromkeys(of_recovery, np.nan) | {"tost_p": 1.0, "equivalent": False}
    return row | told | meaning | {"has_meaning": guards.has_meaning(**meaning), "guards": reasons}


def _percentiles(resampled: np.ndarray, n: int, settings: Settings) -> Key:
    """Ends of both intervals by resampling, n units having a gap."""
    levels = (0.95, 1 - 2 * settings.alpha)
    wide, narrow = resampling.expanded_percentiles(resampled, n, levels)
    return dict(zip(_resampled(), (*wide, *narrow), strict=True))


class OverPairs(Statistic, name="over_pairs", needs=("models", "estimates")):
    """Gap between two learners over pairs of sessions, the unit of a statement about drift.

    A pair without a gap (recovery has no meaning there, or all seeds diverged) is left out and
    counted. Source: docs/protocol.md, Estimands and Statistics.
    """

    columns: ClassVar = {
        **_WITHOUT_PAIR,
        **COMPARED,
        "estimand": TEXT,
        "n_pairs": "Pairs with a gap.",
        "n_seeds": "Seeds with a finite gap in the pair that has the fewest.",
        "n_failing": "Pairs whose estimates have guards.",
        "n_left_out": "Pairs without a gap.",
        "n_diverged": "Seeds of all pairs in which either learner diverged.",
        "gap_pp": "Mean over pairs of the mean over seeds of the difference of recovery (pp).",
        "between_sd_pp": "Standard deviation of the pairs' means (pp).",
        "within_sd_pp": "Standard deviation over the seeds of a pair, pooled over pairs (pp).",
        **TEST,
        "standard_error_pp": "Standard error of the mean (pp): the larger of that over pairs and"
        " that of resampling pairs, seeds and the choice of both rates.",
        **ends("prediction_{}_pp", "the 95 % interval for a new pair's mean"),
        **_resampled("pairs, then seeds through the choice of both rates"),
        "other_rate_share": "Mean over pairs of the share of resamples that choose another rate.",
        "mixed_gap_pp": "Gap by a mixed model with a random intercept of the pair (pp).",
        **ends("mixed_{}_pp", "its 95 % interval"),
        "mixed_pair_sd_pp": "Standard deviation between pairs in that model (pp).",
        "mixed_seed_sd_pp": "Standard deviation between seeds of a pair in that model (pp).",
        **_FROZEN.texts,
        "gap_without_failing_pp": "Gap over the pairs without guards (pp).",
        **ends("t90_{}_without_failing_pp"),
        **_OF_MEANS,
    }

    def table(
        self, models: pd.DataFrame, estimates: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        # Estimates have a row a contrast, in their order.
        pairs = estimates.assign(contrast=list(contrasts(models, settings)))
        pairs = pairs.sort_values(list(_WITHOUT_PAIR), kind="stable")
        by = [*_WITHOUT_PAIR, *_AT]
        rows = [
            dict(zip(by, key, strict=True)) | _over_pairs(group, settings)
            for key, group in pairs.groupby(by, sort=False)
        ]
        return pd.DataFrame(rows, columns=list(self.columns))


def _over_pairs(pairs: pd.DataFrame, settings: Settings) -> dict[str, Any]:
    known, frozen = (pairs[np.isfinite(pairs[c])] for c in ("gap_pp", "gap_frozen_pp"))
    sound = known[known["guards"] == ""]
    gap, tested, resampled = _gap(known, settings)
    none_diverged = not any(s.diverged.any() for c in pairs["contrast"] for s in c.sides)
    same = none_diverged and len(frozen) == len(known)
    others = {
        "frozen": (gap, tested) if same else _gap(frozen, settings, frozen=True)[:2],
        "without_failing": (gap, tested) if len(sound) == len(known) else _gap(sound, settings)[:2],
    }
    low, high = prediction_interval(gap.mean, gap.sd, gap.n)
    row: dict[str, Any] = {
        "n_pairs": gap.n,
        "n_seeds": int(pairs["n_seeds"].min()),
        "n_failing": int((pairs["guards"] != "").sum()),
        "n_left_out": len(pairs) - gap.n,
        "n_diverged": int(pairs["n_diverged"].sum()),
        "gap_pp": gap.mean,
        "between_sd_pp": gap.sd,
        **tested,
        "prediction_low_pp": low,
        "prediction_high_pp": high,
        **_percentiles(resampled, gap.n, settings),
        "other_rate_share": finite_mean(pairs["other_rate_share"].to_numpy(float)),
        **_within_pairs([contrast.gap for contrast in known["contrast"]]),
    }
    for ending, (other, test) in others.items():
        row[f"gap_{ending}_pp"] = other.mean
        row |= {f"t90_{end}_{ending}_pp": test[f"t90_{end}_pp"] for end in ("low", "high")}
    for cell in _MEANS:
        row |= cell.made(pairs.__getitem__, settings)
    return row


def _gap(
    pairs: pd.DataFrame, settings: Settings, frozen: bool = False
) -> tuple[Moments, Key, np.ndarray]:
    """Moments of the pairs' gaps, the intervals and test of their mean, and its resamples: of
    pairs, then seeds, then both rates.

    frozen: whether diverged models score as the frozen network.
    """
    gap = moments(pairs["gap_frozen_pp" if frozen else "gap_pp"])
    if gap.n < 2:
        return gap, equivalence(gap, gap.standard_error, settings), np.empty(0)
    counts = tuple(len(contrast.seeds) for contrast in pairs["contrast"])
    nested = resampling.nested_draws(counts, settings.resamples, settings.seed)
    drawn = zip(pairs["contrast"], nested.different, strict=True)
    resampled = resampling.nested_means(nested, [c.resampled(d, frozen) for c, d in drawn])
    error = np.fmax(gap.standard_error, resampling.spread(resampled, gap.n))
    return gap, equivalence(gap, float(error), settings), resampled


def _within_pairs(gaps: list[np.ndarray]) -> dict[str, float]:
    """Scatter of seeds within pairs, and the mixed model, from each pair's gaps (seeds,)."""
    each = [moments(gap) for gap in gaps]
    squares = sum(one.dof * one.sd**2 for one in each if one.dof)
    dof = sum(one.dof for one in each)
    number = np.repeat(np.arange(len(gaps)), [len(gap) for gap in gaps])
    fit = random_intercept(np.concatenate([*gaps, np.empty(0)]), number)
    names = "gap", "low", "high", "pair_sd", "seed_sd"
    mixed = {f"mixed_{n}_pp": v for n, v in zip(names, astuple(fit), strict=True)}
    return {"within_sd_pp": float(np.sqrt(squares / dof)) if dof else np.nan, **mixed}
