"""One row a condition and gradient: how far it agrees with another learner's, and what it costs."""

import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.means import moments
from orla.study.keys import KEYS

_DEMANDED = [*KEYS, "seed", "selected", "diverged", "observer", "against", "carried_bytes"]


class Learners(Statistic, name="learners", needs=("alignment",)):
    """Agreement of each observer's gradient with that of `against`, along one learner's models.

    `learner` drives the networks, at its selected rate; the gradient is the observer's.
    """

    columns = KEYS | {
        "observer": "Learner whose gradient it is; that of `learner` itself stands among them.",
        "against": "Learner whose gradient it is compared with.",
        "n_seeds": "Seeds with a cosine.",
        "n_diverged": "Seeds that diverged.",
        "cosine": "Mean over seeds of the mean cosine of the two gradients over updates.",
        "cosine_t95_low": "Lower end of its 95 % t interval over seeds.",
        "cosine_t95_high": "Upper end of that interval.",
        "positive_share": "Mean over seeds of the share of updates with a cosine above 0.",
        "norm_ratio": "Mean over seeds of the median over updates of the ratio of the norms.",
        "norm_ratio_t95_low": "Lower end of its 95 % t interval over seeds.",
        "norm_ratio_t95_high": "Upper end of that interval.",
        "carried_bytes": "Bytes that the observer holds of one model between updates.",
    }

    def table(self, alignment: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        shared.demand(alignment, _DEMANDED)
        if alignment.empty:
            return pd.DataFrame(columns=list(self.columns))
        models = alignment[alignment["selected"].astype(bool)]
        rows = []
        for key, group in shared.groups(models, [*KEYS, "observer", "against"]):
            shared.by_seed(group, key)
            cosine = moments(shared.measure(group, "cosine"))
            ratio = moments(shared.measure(group, "norm_ratio"))
            row = {
                **key,
                "n_seeds": cosine.n,
                "n_diverged": int(group["diverged"].sum()),
                "cosine": cosine.mean,
                "positive_share": shared.finite_mean(shared.measure(group, "positive_share")),
                "norm_ratio": ratio.mean,
                "carried_bytes": int(group["carried_bytes"].iloc[0]),
            }
            for name, found in (("cosine", cosine), ("norm_ratio", ratio)):
                ends = f"{name}_t95_low", f"{name}_t95_high"
                row |= dict(zip(ends, found.interval(), strict=True))
            rows.append(row)
        return pd.DataFrame(rows, columns=list(self.columns))
