"""Summaries of two learners paired by seed: gaps, ratios of updates, and the points behind them."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings, Statistic
from orla.results.contrasts import COMPARED, Contrast, contrasts
from orla.results.estimands import AT_END, ESTIMANDS, TEXT
from orla.results.grids import Key
from orla.results.summary import (
    DENOMINATOR,
    Sample,
    Summary,
    diverged_seeds,
    end_columns,
    equivalence_test,
    mean,
    seeds,
    significance_level,
)
from orla.statistics.ranks import group_mean_rank_correlation
from orla.study.keys import SETTING

_GAP = AT_END.recovery
_GAP_PP = ("gap_pp", "Mean over seeds of the difference of held-out recovery", _GAP)


def _contrasts_at_end(
    models: pd.DataFrame, settings: Settings, *comparisons: str
) -> Iterator[Contrast]:
    """Both learners of each comparison (or of these) at their selected rates."""
    return contrasts(models, settings, comparisons or None, {"": AT_END}, more=["update_ratio"])


class Gaps(Summary, name="gaps"):
    """Held-out recovery of one learner minus another's, paired by seed, with its equivalence test.

    A gap is over the seeds that both ran. Source: docs/protocol.md, Learners and cadence.
    """

    keys = SETTING | COMPARED
    cells = (
        seeds(_GAP, "Seeds with a finite gap."),
        diverged_seeds("Seeds in which either learner diverged."),
        mean(*_GAP_PP),
        equivalence_test(_GAP),
        significance_level(_GAP),
        *DENOMINATOR,
        mean("r2_gap", "Mean difference of held-out R2 (mean over outputs)", source="r2_mean"),
        mean("error_gap", "Mean held-out error of the second learner minus the first's"),
        mean(
            "adapt_gap_pp",
            "Mean over seeds of the difference of recovery while adapting",
            source="recovery_adapt_percent",
            t95="adapt_t95_{}_pp",
        ),
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        for c in _contrasts_at_end(models, settings):
            gap = {"error_gap": c.error_gap}
            yield c.key, lambda column, c=c, gap=gap: gap.get(column, c.differences(column))


class HorizonGaps(Summary, name="horizon_gaps", needs=("horizon", "models")):
    """Held-out recovery gap of the main comparison, had the models stopped adapting earlier.

    It is null where recovery has no meaning: its denominator is that of the whole part.
    """

    keys = SETTING | {"horizon_steps": "Steps that the models adapted for."}
    cells = (
        seeds(_GAP, "Seeds with a finite gap."),
        mean(*_GAP_PP, t95="t95_{}_pp"),
    )

    def samples(self, horizon: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        models, columns = horizon.assign(selected=True), {"base_columns": ("selected", _GAP)}
        columns["by"] = (*self.keys, "learner")
        pairs = contrasts(models, settings, [settings.main], {"": AT_END}, **columns)
        return ((pair.key, pair.differences) for pair in pairs)

    def table(
        self, horizon: pd.DataFrame, models: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        pairs = contrasts(models, settings, [settings.main], {"": AT_END})
        clear = {tuple(map(c.key.get, SETTING)) for c in pairs if c.full.recovery_has_meaning}
        rows = super().table(horizon, settings=settings)
        vague = [key not in clear for key in zip(*(rows[name] for name in SETTING), strict=True)]
        rows.loc[vague, [name for name in rows if name.endswith("_pp")]] = np.nan
        rows.loc[vague, "n_seeds"] = 0
        return rows


class RatioGap(Summary, name="ratio_gap"):
    """Update ratio ||dW_hh|| / ||dW_out|| and recovery gap, both over the same seeds."""

    keys = SETTING
    cells = (
        mean(
            "update_ratio",
            "Mean update ratio of the comparison's first learner",
            t95="update_ratio_t95_{}",
        ),
        mean("gap_pp", "Mean difference of held-out recovery", t95="t95_{}_pp"),
        seeds("gap_pp", "Seeds with a finite ratio and gap."),
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        for contrast in _contrasts_at_end(models, settings, settings.main):
            yield contrast.key, _ratio_and_gap(contrast).__getitem__


def _ratio_and_gap(contrast: Contrast) -> dict[str, np.ndarray]:
    """First learner's update ratio and the gap, (seeds,) each, both NaN where either is.

    The gap is NaN where recovery has no meaning.
    """
    values = np.stack([contrast.full.at_rate("update_ratio"), contrast.gap])
    values[:, ~np.isfinite(values).all(0)] = np.nan
    gap = values[1] if contrast.full.recovery_has_meaning else np.full_like(values[1], np.nan)
    return {"update_ratio": values[0], "gap_pp": gap}


class RatioGapOrder(Statistic, name="ratio_gap_order"):
    """Spearman's rho over optimizers between mean update ratio and mean gap, main comparison.

    Seeds are resampled jointly for all optimizers, so the interval holds the variation between
    seeds, not that between optimizers, of which at least three must have a finite seed.
    """

    keys: ClassVar[dict[str, str]] = {n: text for n, text in SETTING.items() if n != "optimizer"}
    columns = keys | {
        "n_optimizers": "Optimizers with a finite seed.",
        "spearman": "Spearman's rank correlation over optimizers.",
        **end_columns("{}"),
        "n_seeds": "Smallest number of finite seeds that any of the optimizers has.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        pairs = _contrasts_at_end(models, settings, settings.main)
        points = [pd.DataFrame(p.key | _ratio_and_gap(p) | {"seed": p.seeds}) for p in pairs]
        rows, how = [], {"resamples": settings.resamples, "seed": settings.seed}
        measures = ["update_ratio", "gap_pp"]
        for key, group in pd.concat(points).groupby(list(self.keys)) if points else ():
            sides = group.pivot(index="optimizer", columns="seed", values=measures)
            present = sides["gap_pp"].notna().sum(axis=1)
            if (some := present > 0).sum() > 2:
                x, y = (sides.loc[some, measure] for measure in measures)
                order = group_mean_rank_correlation(x, y, **how)
                rows.append((*key, len(x), *order, int(present[some].min())))
        return pd.DataFrame(rows, columns=list(self.columns))


class SeedGaps(Statistic, name="seed_gaps"):
    """Every seed's difference of recovery, R2 and error at every estimand; diverged ones too."""

    columns: ClassVar = {
        **SETTING,
        **COMPARED,
        "estimand": TEXT,
        "seed": "Seed.",
        "gap_pp": "Difference of recovery (pp).",
        "r2_gap": "Difference of R2 (mean over outputs).",
        "error_gap": "Error of the second learner minus the first's.",
        "recovery_full_percent": "Recovery of the learner that is subtracted from (%).",
        "recovery_immediate_percent": "Recovery of the learner that is subtracted (%).",
        "over_best_full_percent": "The first one's over the better of frozen and constant (%).",
        "over_best_immediate_percent": "The second one's (%).",
        "diverged": "Whether either learner diverged.",
        "denominator": "Frozen minus reference error, of which recovery is a share.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = []
        for pair in contrasts(models, settings):
            scores = *pair.seed_scores().values(), pair.full.denominator
            rows += [(*pair.key.values(), *row) for row in zip(pair.seeds, *scores, strict=True)]
        return pd.DataFrame(rows, columns=list(self.columns))


class Multiverse(Statistic, name="multiverse", needs=("estimates", "horizon_gaps")):
    """The gap over the seeds of a pair by every metric and freezing step, with 95 % t intervals."""

    columns: ClassVar = {
        **SETTING,
        "comparison": COMPARED["comparison"],
        "metric": 'What the gap is of: an estimand\'s recovery, "r2" or "error".',
        "freezing_step": "Step after which weights were frozen; null for the estimand's own.",
        "gap": "Mean over seeds of the first learner's measure minus the second's.",
        **end_columns("{}", "its 95 % t interval"),
        "unit": 'Unit of the gap: "pp", "R2" or "error".',
    }

    def table(
        self, estimates: pd.DataFrame, horizon_gaps: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        end = next(iter(ESTIMANDS))  # weights frozen at the end, as the paper does
        at_end = estimates[estimates["estimand"] == end]
        late = horizon_gaps.assign(comparison=settings.main, estimand=end)
        late["freezing_step"] = late["horizon_steps"].astype(float)
        recovery = ["gap_pp", "t95_low_pp", "t95_high_pp"]
        parts = [
            (estimates, None, "pp", recovery),
            (at_end, "r2", "R2", ["r2_gap", "r2_t95_low", "r2_t95_high"]),
            (at_end, "error", "error", ["error_gap", "error_t95_low", "error_t95_high"]),
            (late, None, "pp", recovery),
        ]
        rows = []
        for table, metric, unit, numbers in parts:
            names = {"metric": metric or table["estimand"], "unit": unit}
            names |= {"freezing_step": table.get("freezing_step", np.nan)}
            names |= {n: table[c] for n, c in zip(("gap", "low", "high"), numbers, strict=True)}
            rows.append(table.assign(**names)[[*self.columns]])
        order = [*SETTING, "comparison", "metric", "freezing_step"]
        return pd.concat(rows, ignore_index=True).sort_values(
            order, ignore_index=True, na_position="last", kind="stable"
        )
