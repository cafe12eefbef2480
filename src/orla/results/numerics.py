"""What numeric configurations do to the gap, and to the choice of the rates that it is at."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.results.contrasts import COMPARED, Contrast, contrasts
from orla.results.estimands import AT_END
from orla.results.grids import Key
from orla.results.summary import Sample, Summary, mean, seeds, shared_value
from orla.statistics.resampling import finite_means
from orla.study.keys import SETTING

CHOICES = {"rolling": AT_END, "tail": replace(AT_END, selected="selected_on_tail")}
"""Choice of the rate -> how it is marked: by rolling origins, and by one freezing before the last
fifth of the adapt part."""


class Numerics(Summary, name="numerics"):
    """Gap of the main comparison by precision, at each one's rates and at those of `rates_of`.

    Of settings that were run at several precisions. Source: docs/protocol.md, Numerics.
    """

    keys: ClassVar = {
        **SETTING,
        **COMPARED,
        "choice": '"rolling", or "tail": by one freezing before the last fifth of the adapt part.',
        "rates_of": "Precision at which the rates were chosen.",
    }
    cells = (
        shared_value("learning_rate_full", "Rate of the learner that is subtracted from."),
        shared_value("learning_rate_immediate", "Rate of the learner that is subtracted."),
        shared_value(
            "n_flipped",
            "Learners, of these two, for which this precision chooses another rate.",
            int,
        ),
        seeds(
            "gap_pp",
            "Seeds with a finite gap; 0 also where a rate was not tried at this precision.",
        ),
        mean("gap_pp", "Mean over seeds of the difference of held-out recovery", t95="t95_{}_pp"),
        mean("recovery_full_percent", "Mean recovery of the learner that is subtracted from"),
        mean("recovery_immediate_percent", "Mean recovery of the learner that is subtracted"),
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        by_key: dict[tuple, dict[str, Contrast]] = defaultdict(dict)
        for contrast in contrasts(models, settings, [settings.main], CHOICES):
            key = tuple(value for name, value in contrast.key.items() if name != "precision")
            by_key[key][contrast.key["precision"]] = contrast
        for by_precision in by_key.values():
            for precision, contrast in by_precision.items():
                for rates in dict.fromkeys((settings.rates_of, precision)):
                    if len(by_precision) > 1 and rates in by_precision:
                        key = contrast.key | {"choice": contrast.key["estimand"], "rates_of": rates}
                        yield key, _rate_transfer_scores(contrast, by_precision[rates]).__getitem__


def _rate_transfer_scores(contrast: Contrast, rate_source: Contrast) -> dict[str, np.ndarray]:
    """One precision at the rates that another has chosen; NaN where they were not tried."""
    values = {"n_flipped": np.zeros(1)}
    for name, side, other in zip(
        ("full", "immediate"), contrast.sides, rate_source.sides, strict=True
    ):
        matches = np.isclose(side.grid.rates, other.rate, atol=0)
        values[f"recovery_{name}_percent"] = finite_means(side.values(AT_END.recovery)[:, matches])
        values[f"learning_rate_{name}"] = np.array([other.rate])
        values["n_flipped"] += not matches[side.rate_index]
    gap = values["recovery_full_percent"] - values["recovery_immediate_percent"]
    return values | {
        "gap_pp": gap if contrast.full.recovery_has_meaning else np.full_like(gap, np.nan)
    }
