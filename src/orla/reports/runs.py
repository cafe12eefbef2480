"""The conditions that were run: networks, frozen and reference errors, steps and updates."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from orla.reports.study import StudyFacts

_ACCURACIES = ["frozen_accuracy", "reference_accuracy"]
_MEANS = ["frozen_heldout_error", "reference_error", "constant_error", *_ACCURACIES]


class Run(NamedTuple):
    """One condition: its title, and how many pretrained networks were adapted.

    Errors are means over networks in `unit`, accuracies percentages; missing where there are none.
    `steps` is of the adapt part, None where no learner's cadence is known; `updates` are of one
    model, by the learner's name.
    """

    title: str
    networks: int
    unit: str
    frozen_error: float
    reference_error: float
    constant_error: float
    frozen_accuracy: float
    reference_accuracy: float
    steps: int | None
    updates: dict[str, int]

    @property
    def least_updates(self) -> int:
        """Of the learner that has the fewest."""
        return min(self.updates.values())


def runs(heldout: pd.DataFrame, study: StudyFacts) -> Iterator[Run]:
    """The conditions of results/heldout (one row a model), in order."""
    for title, _, rows in study.groups(heldout):
        updates = rows.groupby("learner", sort=False)["updates"].max().astype(int).to_dict()
        steps = [n * stride for name, n in updates.items() if (stride := study.stride(name))]
        networks = rows.drop_duplicates("seed")
        means = networks.reindex(columns=_MEANS).mean()
        means[_ACCURACIES] *= 100
        unit = "nats" if networks.reindex(columns=["accuracy"]).notna().any(axis=None) else "MSE"
        named = {study.called("learner", name): n for name, n in updates.items()}
        yield Run(title, len(networks), unit, *means, max(steps, default=None), named)
