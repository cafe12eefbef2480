"""Summaries of two learners paired by seed: gaps, ratios of updates, and the points behind them."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.results.contrasts import Contrast, contrasts
from orla.results.estimands import AT_END, TEXT
from orla.results.shared import Key
from orla.results.summary import Sample, Summary, ends, lost, mean, seeds, tested, whether
from orla.statistics.bootstrap import ordering_interval
from orla.study.keys import SETTING

_ESTIMANDS = {"": AT_END}
_GAP = AT_END.recovery
_GAP_PP = "Mean over seeds of the difference of held-out recovery"
_READ = ("r2_mean", "heldout_error", "update_ratio")


def _paired(
    models: pd.DataFrame, settings: Settings, names: Iterable[str] | None = None
) -> Iterator[Contrast]:
    """Both learners of each comparison at their selected rates."""
    columns: dict[str, Any] = {"more": _READ, "needed": shared.MEASURES}
    return contrasts(models, settings, names, _ESTIMANDS, **columns)


class Gaps(Summary, name="gaps"):
    """Held-out recovery of one learner minus another's, paired by seed, with its equivalence test.

    A gap is over the seeds that both ran. Source: docs/protocol.md, Learners and cadence.
    """

    keys = SETTING | shared.COMPARED
    cells = (
        seeds(_GAP, "Seeds with a finite gap."),
        lost("Seeds in which either learner diverged."),
        mean("gap_pp", _GAP_PP, "pp", of=_GAP, bootstrap="{}_pp"),
        tested(_GAP),
        whether("unreliable", "Whether recovery's denominator is too small in any seed."),
        mean(
            "r2_gap",
            "Mean over seeds of the difference of held-out R2 (mean over outputs)",
            of="r2_mean",
        ),
        mean(
            "error_gap",
            "Mean over seeds of the difference of held-out mean squared error",
            of="heldout_error",
        ),
        mean(
            "adapt_gap_pp",
            "Mean over seeds of the difference of recovery while adapting",
            "pp",
            of="recovery_adapt_percent",
            t95="adapt_t95_{}_pp",
        ),
    )

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        return ((one.key, one.values) for one in _paired(needed, settings))


class HorizonGaps(Summary, name="horizon_gaps", needs=("horizon",)):
    """Held-out recovery gap of the main comparison, had the models stopped adapting earlier."""

    keys = SETTING | {"horizon_steps": "Steps that the models adapted for."}
    cells = (
        seeds(_GAP, "Seeds with a finite gap."),
        mean("gap_pp", _GAP_PP, "pp", of=_GAP, bootstrap="{}_pp", t95="t95_{}_pp"),
    )

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        models, of = needed.assign(selected=True), {"needed": ("selected", _GAP)}
        of["by"] = (*self.keys, "learner")
        paired = contrasts(models, settings, [settings.main], _ESTIMANDS, **of)
        return ((one.key, one.values) for one in paired)


class RatioGap(Summary, name="ratio_gap"):
    """Update ratio ||dW_hh|| / ||dW_out|| and recovery gap, both over the same seeds."""

    keys = SETTING
    cells = (
        mean(
            "update_ratio",
            "Mean update ratio of the comparison's first learner",
            of="ratio",
            bootstrap="update_ratio_{}",
        ),
        mean("gap_pp", "Mean difference of held-out recovery", "pp", of="gap", bootstrap="{}_pp"),
        seeds("gap", "Seeds with a finite ratio and gap."),
    )

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        for one in _paired(needed, settings, [settings.main]):
            yield one.key, _ratio_and_gap(one).__getitem__


class RatioGapOrder(Statistic, name="ratio_gap_order"):
    """Spearman's rho over optimizers between mean update ratio and mean gap, main comparison.

    Seeds are resampled jointly for all optimizers, and both means are computed in each resample.
    The interval holds the variation between seeds, not that between optimizers. A setting has a
    row where at least three optimizers have a finite seed.
    """

    keys: ClassVar[dict[str, str]] = {n: text for n, text in SETTING.items() if n != "optimizer"}
    columns = keys | {
        "n_optimizers": "Optimizers with a finite seed.",
        "spearman": "Spearman's rank correlation over optimizers.",
        **ends("{}"),
        "n_seeds": "Smallest number of finite seeds that any of the optimizers has.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        paired = _paired(models, settings, [settings.main])
        points = [pd.DataFrame(one.key | _ratio_and_gap(one)) for one in paired]
        rows = []
        for key, group in shared.groups(pd.concat(points), list(self.keys)) if points else ():
            ratio, gap = (
                group.pivot(index="optimizer", columns="seed", values=of) for of in ("ratio", "gap")
            )
            present = gap.notna().sum(axis=1)
            some = present.index[present > 0]
            if len(some) < 3:
                continue
            order = ordering_interval(
                ratio.loc[some], gap.loc[some], resamples=settings.resamples, seed=settings.seed
            )
            numbers = (len(some), order.estimate, order.low, order.high, int(present[some].min()))
            rows.append((*key.values(), *numbers))
        return pd.DataFrame(rows, columns=list(self.columns))


class SeedGaps(Statistic, name="seed_gaps"):
    """Every seed's difference of recovery, R2 and error at every estimand; diverged ones too."""

    columns = (
        SETTING
        | shared.COMPARED
        | {
            "estimand": TEXT,
            "seed": "Seed.",
            "gap_pp": "Difference of recovery (pp).",
            "r2_gap": "Difference of R2 (mean over outputs).",
            "error_gap": "Difference of error.",
            "recovery_full_percent": "Recovery of the learner that is subtracted from (%).",
            "recovery_immediate_percent": "Recovery of the learner that is subtracted (%).",
            "diverged": "Whether either learner diverged.",
            "denominator": "Frozen minus reference error, of which recovery is a share.",
        }
    )

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        frames = []
        for one in contrasts(models, settings):
            full, immediate = one.sides
            of_seeds = {
                "seed": one.seeds,
                "gap_pp": one.gap,
                "r2_gap": one.difference(full.estimand.r2),
                "error_gap": one.difference(full.estimand.error),
                "recovery_full_percent": full.recovery[:, full.marked],
                "recovery_immediate_percent": immediate.recovery[:, immediate.marked],
                "diverged": one.diverged,
                "denominator": full.denominator,
            }
            frames.append(pd.DataFrame(one.key | of_seeds))
        empty = pd.DataFrame(columns=list(self.columns))
        return pd.concat(frames, ignore_index=True) if frames else empty


def _ratio_and_gap(one: Contrast) -> dict[str, np.ndarray]:
    """First learner's update ratio and the gap, (seeds,) each, both NaN where either is."""
    ratio, gap = one.full.at_marked("update_ratio"), one.gap
    finite = np.isfinite(ratio) & np.isfinite(gap)
    both = {"ratio": np.where(finite, ratio, np.nan), "gap": np.where(finite, gap, np.nan)}
    return {"seed": one.seeds, **both}
