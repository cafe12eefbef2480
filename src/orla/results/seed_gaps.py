"""One row a setting, comparison, estimand and seed: the points behind the estimates."""

import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.results.contrasts import contrasts
from orla.results.estimands import TEXT
from orla.study.keys import SETTING


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
        rows = []
        for contrast in contrasts(models, settings):
            full, immediate = contrast.sides
            of_seeds = {
                "seed": contrast.seeds,
                "gap_pp": contrast.gap,
                "r2_gap": contrast.difference("r2"),
                "error_gap": contrast.difference("error"),
                "recovery_full_percent": full.recovery[:, full.marked],
                "recovery_immediate_percent": immediate.recovery[:, immediate.marked],
                "diverged": contrast.diverged,
                "denominator": full.denominator,
            }
            rows += [
                contrast.key | dict(zip(of_seeds, values, strict=True))
                for values in zip(*of_seeds.values(), strict=True)
            ]
        return pd.DataFrame(rows, columns=list(self.columns))
