"""The gap of two learners over the seeds of a pair of sessions, and over pairs, by estimand."""

from dataclasses import astuple
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from orla.results import guards
from orla.results.base import Settings, Statistic
from orla.results.contrasts import COMPARED, Contrast, contrasts
from orla.results.estimands import TEXT
from orla.results.grids import seed_values
from orla.results.scales import PP, SCALES, VARIANCE, VARIANTS
from orla.results.summary import (
    MEAN_DENOMINATOR,
    DerivedColumns,
    cells_row,
    column_texts,
    end_columns,
    equivalence_test,
    finite_count,
    mean,
    significance_level,
)
from orla.statistics.means import moments, prediction_interval
from orla.statistics.mixed import random_intercept
from orla.study.keys import OVER_PAIRS, SETTING

_AT = {**SETTING, **COMPARED, "estimand": TEXT}
_OVER_PAIRS = {name: text for name, text in _AT.items() if name != "pair"}
_GAPS = {
    PP.unit: "Mean over {} of the difference of recovery",
    VARIANCE.unit: "Mean over {} of the second learner's error minus the first's, in units of the"
    " target's variance",
}
_LEVELS = {
    "recovery": "Mean recovery of the learner that is {}",
    "over_best": "Mean recovery over the better of the frozen network and the best constant, of the"
    " learner that is {}",
}
_ROLES = {"full": "subtracted from", "immediate": "subtracted"}


def _summary_cells(units: str) -> tuple[DerivedColumns, ...]:
    """Each scale's gap with its count, test and variants; then levels and R2."""
    cells = []
    for scale in SCALES.values():
        gap, number = scale.gap_column(), scale.count.format(units)
        cells += [
            finite_count(number, gap, f"{units.title()}s with a gap of {scale.unit}."),
            mean(gap, _GAPS[scale.unit].format(f"{units}s")),
            equivalence_test(gap, scale),
        ]
        for name in ("frozen", "runner_up_full", "runner_up_immediate"):
            text = f"The same with {VARIANTS[name]}"
            cells.append(mean(scale.gap_column(name), text, t90=scale.ends_pattern(name)))
    return (
        *cells,
        significance_level("gap_pp"),
        mean("r2_gap", "Mean difference of R2 (mean over outputs)", t95="r2_t95_{}"),
        *(
            mean(f"{name}_{role}_percent", text.format(what), t95=f"{name}_{role}_{{}}_percent")
            for name, text in _LEVELS.items()
            for role, what in _ROLES.items()
        ),
    )


_SOUND = tuple(
    mean(
        scale.gap_column("without_failing"),
        "Gap over the pairs without guards",
        source=scale.gap_column(),
        t90=scale.ends_pattern("without_failing"),
    )
    for scale in SCALES.values()
)


class Estimates(Statistic, name="estimates"):
    """Gap between two learners over the seeds of one pair, with its guards, at every estimand.

    Seeds are repeats within a pair: these intervals are about further networks on the same two
    sessions. Source: docs/protocol.md, Estimands and Statistics.
    """

    cells = _summary_cells("seed")
    columns: ClassVar = {
        **_AT,
        "n_diverged": "Seeds in which either learner diverged.",
        **column_texts(cells),
        "updates": "Updates of a model, the fewer of both learners'.",
        **MEAN_DENOMINATOR.texts,
        "frozen_error": "Mean held-out error of the networks that do not adapt.",
        "constant_error": "Held-out error of the best constant prediction.",
        "has_meaning": "Whether recovery says anything: its denominator is clear.",
        "guards": "Reasons not to rely on the row, each with what to do; empty without any.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [self._row(contrast, settings) for contrast in contrasts(models, settings)]
        return pd.DataFrame(rows, columns=list(self.columns))

    def _row(self, contrast: Contrast, settings: Settings) -> dict[str, Any]:
        scores = contrast.seed_scores() | contrast.gaps_by_variant()
        row = contrast.key | {"n_diverged": int(scores["diverged"].sum())}
        row |= cells_row(self.cells, scores.__getitem__, settings)
        full, meaning = contrast.full, contrast.full.recovery_has_meaning
        if not meaning:
            of_recovery = {c for c in row if c.endswith(("_pp", "_percent"))} - {"margin_pp"}
            of_recovery = {c for c in of_recovery if not c.startswith("over_best")}
            row |= dict.fromkeys(of_recovery, np.nan) | {"tost_p": 1.0, "equivalent": False}
        searches = [side.rate_search for side in contrast.sides]
        constant, reference = (full.mean(f"{n}_error") for n in ("constant", "reference"))
        return row | {
            "updates": min(side.updates for side in searches),
            **cells_row([MEAN_DENOMINATOR], partial(seed_values, full), settings),
            "frozen_error": full.mean("frozen_heldout_error"),
            "constant_error": constant,
            "has_meaning": meaning,
            "guards": guards.reasons(searches, reference, constant),
        }


class OverPairs(Statistic, name="over_pairs", needs=("models", "estimates")):
    """Gap between two learners over pairs of sessions, the unit of a statement about drift.

    Each pair's mean holds the scatter of its seeds and of its choices of a rate, so intervals are
    t intervals over pairs alone. A pair without a gap is left out and counted.
    Source: docs/protocol.md, Estimands and Statistics.
    """

    cells = _summary_cells("pair")
    every_cell = (*cells, *_SOUND)
    columns: ClassVar = {
        **_OVER_PAIRS,
        "n_seeds": "Seeds with a finite gap in the pair that has the fewest.",
        "error_n_seeds": "The same of errors.",
        "n_failing": "Pairs whose estimates have guards.",
        "n_left_out": "Pairs without a gap of recovery.",
        "n_diverged": "Seeds of all pairs in which either learner diverged.",
        **column_texts(cells),
        "between_sd_pp": "Standard deviation of the pairs' means (pp).",
        "within_sd_pp": "Standard deviation over the seeds of a pair, pooled over pairs (pp).",
        "error_between_sd": "Standard deviation of the pairs' means of the gap of errors.",
        **end_columns("prediction_{}_pp", "the 95 % interval for a new pair's mean"),
        "mixed_gap_pp": "Gap by a mixed model with a random intercept of the pair (pp).",
        **end_columns("mixed_{}_pp", "its 95 % interval"),
        "mixed_pair_sd_pp": "Standard deviation between pairs in that model (pp).",
        "mixed_seed_sd_pp": "Standard deviation between seeds of a pair in that model (pp).",
        **column_texts(_SOUND),
    }

    def table(
        self, models: pd.DataFrame, estimates: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        # Estimates have a row a contrast, in their order.
        pairs = estimates.assign(contrast=list(contrasts(models, settings)))
        pairs = pairs.sort_values([*OVER_PAIRS], kind="stable")
        rows = [
            dict(zip(_OVER_PAIRS, key, strict=True)) | self._row(group, settings)
            for key, group in pairs.groupby([*_OVER_PAIRS], sort=False)
        ]
        return pd.DataFrame(rows, columns=list(self.columns))

    def _row(self, pairs: pd.DataFrame, settings: Settings) -> dict[str, Any]:
        """The row of one setting and comparison, from the estimates of its pairs."""
        finite, sound = pairs[np.isfinite(pairs["gap_pp"])], pairs[pairs["guards"] == ""]
        gap = moments(finite["gap_pp"])
        low, high = prediction_interval(gap.mean, gap.sd, gap.n)
        return {
            "n_seeds": int(pairs["n_seeds"].min()),
            "error_n_seeds": int(pairs["error_n_seeds"].min()),
            "n_failing": len(pairs) - len(sound),
            "n_left_out": len(pairs) - gap.n,
            "n_diverged": int(pairs["n_diverged"].sum()),
            "between_sd_pp": gap.sd,
            "error_between_sd": moments(pairs["error_gap"]).sd,
            "prediction_low_pp": low,
            "prediction_high_pp": high,
            **_within_sd_and_mixed_model([contrast.gap for contrast in finite["contrast"]]),
            **cells_row(self.cells, pairs.__getitem__, settings),
            **cells_row(_SOUND, sound.__getitem__, settings),
        }


def _within_sd_and_mixed_model(gaps: list[np.ndarray]) -> dict[str, float]:
    """Scatter of seeds within pairs, and the mixed model, from each pair's gaps (seeds,)."""
    pairs = [moments(gap) for gap in gaps]
    squares = sum(pair.dof * pair.sd**2 for pair in pairs if pair.dof)
    dof = sum(pair.dof for pair in pairs)
    number = np.repeat(np.arange(len(gaps)), [len(gap) for gap in gaps])
    fit = random_intercept(np.concatenate([*gaps, np.empty(0)]), number)
    names = "gap", "low", "high", "pair_sd", "seed_sd"
    mixed = {f"mixed_{n}_pp": v for n, v in zip(names, astuple(fit), strict=True)}
    return {"within_sd_pp": float(np.sqrt(squares / dof)) if dof else np.nan, **mixed}
