"""One row a setting, comparison and estimand: the gap over pairs of sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.results.contrasts import Contrast, contrasts
from orla.results.estimands import TEXT
from orla.results.summary import ALPHA, T95, TEST, ends, equivalence
from orla.statistics import resampling
from orla.statistics.means import Moments, moments, prediction_interval
from orla.statistics.mixed import random_intercept
from orla.study.keys import SETTING

_SETTING = {name: text for name, text in SETTING.items() if name != "pair"}
_KEY = [*_SETTING, *shared.COMPARED, "estimand"]


@dataclass(frozen=True, eq=False)
class Pair:
    """A pair's row of the estimates, and its models."""

    row: dict[str, Any]
    contrast: Contrast


class OverPairs(Statistic, name="over_pairs", needs=("models", "estimates")):
    """Gap between two learners over pairs of sessions, the unit of a statement about drift.

    A pair without a gap (recovery has no meaning there, or all seeds diverged) is left out and
    counted. Source: docs/protocol.md, Units, estimands, intervals.
    """

    columns = (
        _SETTING
        | shared.COMPARED
        | {
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
            "standard_error_pp": "Standard error of the mean (pp): the larger of that over pairs"
            " and that of resampling pairs, seeds and the choice of both rates.",
            **ends("prediction_{}_pp", "the 95 % interval for a new pair's mean", "pp"),
            **ends(
                "resampled_{}_pp",
                "the 95 % interval by resampling pairs, then seeds through the choice of both rates"
                " (expanded percentiles)",
                "pp",
            ),
            **ends("resampled_90_{}_pp", "the same at 1 - 2 alpha", "pp"),
            "other_rate_share": "Mean over pairs of the share of resamples that choose another"
            " rate.",
            "mixed_gap_pp": "Gap by a mixed model with a random intercept of the pair (pp).",
            **ends("mixed_{}_pp", "its 95 % interval", "pp"),
            "mixed_pair_sd_pp": "Standard deviation between pairs in that model (pp).",
            "mixed_seed_sd_pp": "Standard deviation between seeds of a pair in that model (pp).",
            "gap_frozen_pp": "Gap with diverged models scored as the frozen network (pp).",
            **ends("t90_{}_frozen_pp", ALPHA, "pp"),
            "gap_without_failing_pp": "Gap over the pairs without guards (pp).",
            **ends("t90_{}_without_failing_pp", ALPHA, "pp"),
            "r2_gap": "Mean over pairs of the difference of R2 (mean over outputs).",
            **ends("r2_t95_{}", T95),
            "error_gap": "Mean over pairs of the difference of error.",
            **ends("error_t95_{}", T95),
            "recovery_full_percent": "Mean recovery of the learner that is subtracted from (%).",
            **ends("recovery_full_{}_percent", T95, "%"),
            "recovery_immediate_percent": "Mean recovery of the learner that is subtracted (%).",
            **ends("recovery_immediate_{}_percent", T95, "%"),
        }
    )

    def table(
        self, models: pd.DataFrame, estimates: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        at = [*_KEY, "pair"]
        found = {tuple(row[k] for k in at): row for row in estimates.to_dict("records")}
        grouped: dict[tuple, list[Pair]] = {}
        for contrast in contrasts(models, settings):
            row = found[tuple(contrast.key[k] for k in at)]
            grouped.setdefault(tuple(contrast.key[k] for k in _KEY), []).append(Pair(row, contrast))
        order = sorted(grouped, key=lambda key: key[: len(_SETTING)])
        rows = [dict(zip(_KEY, key, strict=True)) | _row(grouped[key], settings) for key in order]
        return pd.DataFrame(rows, columns=list(self.columns))


def resampled_gaps(
    pairs: Sequence[Contrast], settings: Settings, frozen: bool = False
) -> np.ndarray:
    """Mean gap in pp of each resample of pairs, then seeds, then both rates, (resamples,).

    Args:
        pairs: the pairs, in any order that is always the same.
        settings: number and seed of the resamples.
        frozen: score diverged models as the frozen network.
    """
    counts = tuple(len(contrast.seeds) for contrast in pairs)
    nested = resampling.nested_draws(counts, settings.resamples, settings.seed)
    values = [
        contrast.resampled(different, frozen)
        for contrast, different in zip(pairs, nested.different, strict=True)
    ]
    return resampling.nested_means(nested, values)


_MEANS = {
    "r2_gap": "r2_t95_{}",
    "error_gap": "error_t95_{}",
    "recovery_full_percent": "recovery_full_{}_percent",
    "recovery_immediate_percent": "recovery_immediate_{}_percent",
}
"""Column that is averaged over pairs -> the pattern of the columns of its 95 % t interval."""


def _row(pairs: list[Pair], settings: Settings) -> dict[str, Any]:
    rows = pd.DataFrame([pair.row for pair in pairs])
    having = [pair for pair in pairs if np.isfinite(pair.row["gap_pp"])]
    frozen = [pair for pair in pairs if np.isfinite(pair.row["gap_frozen_pp"])]
    sound = [pair for pair in having if not pair.row["guards"]]
    gap, tested, resampled = _gap(having, settings)
    same = frozen == having and not any(s.diverged.any() for p in pairs for s in p.contrast.sides)
    others = {
        "frozen": (gap, tested) if same else _gap(frozen, settings, frozen=True)[:2],
        "without_failing": (gap, tested) if sound == having else _gap(sound, settings)[:2],
    }
    wide, narrow = resampling.expanded_percentiles(resampled, gap.n, (0.95, 1 - 2 * settings.alpha))
    low, high = prediction_interval(gap.mean, gap.sd, gap.n)
    row: dict[str, Any] = {
        "n_pairs": gap.n,
        "n_seeds": int(rows["n_seeds"].min()),
        "n_failing": int((rows["guards"] != "").sum()),
        "n_left_out": len(pairs) - gap.n,
        "n_diverged": int(rows["n_diverged"].sum()),
        "gap_pp": gap.mean,
        "between_sd_pp": gap.sd,
        **tested,
        "prediction_low_pp": low,
        "prediction_high_pp": high,
        "resampled_low_pp": wide[0],
        "resampled_high_pp": wide[1],
        "resampled_90_low_pp": narrow[0],
        "resampled_90_high_pp": narrow[1],
        "other_rate_share": shared.finite_mean(rows["other_rate_share"].to_numpy(float)),
        **_within_pairs([pair.contrast.gap for pair in having]),
    }
    for ending, (other, test) in others.items():
        row[f"gap_{ending}_pp"] = other.mean
        row |= {f"t90_{end}_{ending}_pp": test[f"t90_{end}_pp"] for end in ("low", "high")}
    for column, pattern in _MEANS.items():
        values = moments(rows[column])
        row |= dict(zip((column, *ends(pattern)), (values.mean, *values.interval()), strict=True))
    return row


def _gap(
    pairs: list[Pair], settings: Settings, frozen: bool = False
) -> tuple[Moments, dict[str, Any], np.ndarray]:
    """Moments of the pairs' gaps, the intervals and test of their mean, and its resamples."""
    column = "gap_frozen_pp" if frozen else "gap_pp"
    gap = moments([pair.row[column] for pair in pairs])
    if gap.n < 2:
        return gap, equivalence(gap, gap.standard_error, settings), np.empty(0)
    resampled = resampled_gaps([pair.contrast for pair in pairs], settings, frozen)
    error = np.fmax(gap.standard_error, resampling.spread(resampled, gap.n))
    return gap, equivalence(gap, float(error), settings), resampled


def _within_pairs(gaps: list[np.ndarray]) -> dict[str, float]:
    """Scatter of seeds within pairs, and the mixed model, from each pair's gaps (seeds,)."""
    each = [moments(gap) for gap in gaps]
    squares = sum(one.dof * one.sd**2 for one in each if one.dof)
    dof = sum(one.dof for one in each)
    number = np.repeat(np.arange(len(gaps)), [len(gap) for gap in gaps])
    fit = random_intercept(np.concatenate([*gaps, np.empty(0)]), number)
    return {
        "within_sd_pp": float(np.sqrt(squares / dof)) if dof else np.nan,
        "mixed_gap_pp": fit.mean,
        "mixed_low_pp": fit.low,
        "mixed_high_pp": fit.high,
        "mixed_pair_sd_pp": fit.group_sd,
        "mixed_seed_sd_pp": fit.residual_sd,
    }
