"""One row a pair of sessions, setting, comparison and estimand: the gap over seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.results import guards, shared
from orla.results.base import Settings, Statistic
from orla.results.contrasts import Contrast, contrasts
from orla.results.estimands import TEXT
from orla.results.summary import ALPHA, T95, TEST, ends, equivalence
from orla.statistics.means import moments
from orla.statistics.resampling import draws, expanded_percentiles
from orla.study.keys import SETTING

_OF_RECOVERY = (
    "gap_pp",
    "standard_error_pp",
    *("t90_low_pp", "t90_high_pp", "t95_low_pp", "t95_high_pp"),
    *("resampled_low_pp", "resampled_high_pp", "resampled_90_low_pp", "resampled_90_high_pp"),
    "price_pp",
    *("gap_frozen_pp", "t90_low_frozen_pp", "t90_high_frozen_pp"),
    *(
        f"{recovery}{end}_percent"
        for recovery in ("recovery_full", "recovery_immediate")
        for end in ("", "_low", "_high")
    ),
)
"""Columns that are null where recovery has no meaning."""


class Estimates(Statistic, name="estimates"):
    """Gap between two learners over the seeds of one pair, with its guards, at every estimand.

    Seeds are repeats within a pair: these intervals are about further networks on the same two
    sessions. Source: docs/protocol.md, Units, estimands, intervals.
    """

    columns = (
        SETTING
        | shared.COMPARED
        | {
            "estimand": TEXT,
            "n_seeds": "Seeds with a finite gap.",
            "n_diverged": "Seeds in which either learner diverged.",
            "gap_pp": "Mean over seeds of the difference of recovery (pp).",
            **TEST,
            **ends(
                "resampled_{}_pp",
                "the 95 % interval by resampling seeds through the choice of both rates (expanded"
                " percentiles)",
                "pp",
            ),
            **ends("resampled_90_{}_pp", "the same at 1 - 2 alpha", "pp"),
            "other_rate_share": "Share of resamples that choose another rate, the larger of both"
            " learners'.",
            "price_pp": "Recovery at the rate chosen on the scored steps minus at the chosen one,"
            " of the learner where it is larger (pp).",
            "gap_frozen_pp": "Gap with a diverged model scored as the frozen network (pp).",
            **ends("t90_{}_frozen_pp", ALPHA, "pp"),
            "r2_gap": "Mean over seeds of the difference of R2 (mean over outputs).",
            **ends("r2_t95_{}", T95),
            "error_gap": "Mean over seeds of the difference of error.",
            **ends("error_t95_{}", T95),
            "recovery_full_percent": "Mean recovery of the learner that is subtracted from (%).",
            **ends("recovery_full_{}_percent", T95, "%"),
            "recovery_immediate_percent": "Mean recovery of the learner that is subtracted (%).",
            **ends("recovery_immediate_{}_percent", T95, "%"),
            "updates": "Updates of a model, the fewer of both learners'.",
            "denominator": "Mean over seeds of frozen minus reference error.",
            "denominator_se": "Its standard error over seeds.",
            "frozen_error": "Mean held-out error of the networks that do not adapt.",
            "constant_error": "Held-out error of the best constant prediction.",
            "has_meaning": "Whether recovery says anything: its denominator is clear, and the"
            " frozen network no worse than the best constant prediction.",
            "guards": "Reasons not to rely on the row, each with what to do; empty without any.",
        }
    )

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [_row(contrast, settings) for contrast in contrasts(models, settings)]
        return pd.DataFrame(rows, columns=list(self.columns))


def _row(contrast: Contrast, settings: Settings) -> dict[str, Any]:
    gap, frozen = moments(contrast.gap), moments(contrast.gap_frozen)
    row: dict[str, Any] = {
        **contrast.key,
        "n_seeds": gap.n,
        "n_diverged": int(contrast.diverged.sum()),
        "gap_pp": gap.mean,
        **equivalence(gap, gap.standard_error, settings),
        **_resampled(contrast, gap.n, settings),
        "price_pp": max((s.price for s in contrast.sides), key=_size),
    }
    low, high = frozen.interval(1 - 2 * settings.alpha)
    row |= {"gap_frozen_pp": frozen.mean, "t90_low_frozen_pp": low, "t90_high_frozen_pp": high}
    estimand = contrast.full.estimand
    for measure, column in (("r2", estimand.r2), ("error", estimand.error)):
        values = moments(contrast.difference(column))
        names = f"{measure}_gap", f"{measure}_t95_low", f"{measure}_t95_high"
        row |= dict(zip(names, (values.mean, *values.interval()), strict=True))
    for name, side in zip(("recovery_full", "recovery_immediate"), contrast.sides, strict=True):
        values = moments(side.recovery[:, side.marked])
        names = [f"{name}{end}_percent" for end in ("", "_low", "_high")]
        row |= dict(zip(names, (values.mean, *values.interval()), strict=True))
    return row | _guarded(contrast, row, settings)


def _size(value: float) -> float:
    """Absolute value; NaN is smaller than any number."""
    return -1.0 if np.isnan(value) else abs(value)


def _resampled(contrast: Contrast, n: int, settings: Settings) -> dict[str, float]:
    """Intervals by resampling seeds through the choice of both rates, n gaps being finite."""
    names = "resampled_low_pp", "resampled_high_pp", "resampled_90_low_pp", "resampled_90_high_pp"
    seeds = len(contrast.seeds)
    if seeds < 2:
        return dict.fromkeys((*names, "other_rate_share"), np.nan)
    drawn = draws(seeds, settings.resamples, settings.seed)
    gaps = contrast.resampled(drawn.different)[drawn.index]
    wide, narrow = expanded_percentiles(gaps, n, (0.95, 1 - 2 * settings.alpha))
    share = max(side.other_rates(drawn).sum() for side in contrast.sides)
    return dict(zip(names, (*wide, *narrow), strict=True)) | {"other_rate_share": float(share)}


def _guarded(contrast: Contrast, row: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Measures of the frozen network, the guards, and nulls where recovery has no meaning."""
    full = contrast.full
    denominator = moments(full.denominator)
    found: dict[str, Any] = {
        "updates": min(shared.finite_mean(side.at_marked("updates")) for side in contrast.sides),
        "denominator": denominator.mean,
        "denominator_se": denominator.standard_error,
        "frozen_error": shared.finite_mean(full.at_marked("frozen_heldout_error")),
        "constant_error": shared.finite_mean(full.at_marked("constant_error")),
    }
    updates = found.pop("updates")
    told = {
        "has_meaning": guards.has_meaning(**found),
        "guards": guards.reasons(
            updates=updates,
            price_pp=row["price_pp"],
            other_rate_share=row["other_rate_share"],
            margin_pp=float(settings.margin_pp),
            **found,
        ),
    }
    found |= {"updates": updates, **told}
    if guards.denominator_fails(found["denominator"], found["denominator_se"]):
        found |= dict.fromkeys((*_OF_RECOVERY, "delta_star_pp"), np.nan)
        found |= {"tost_p": 1.0, "equivalent": False}
    return found
