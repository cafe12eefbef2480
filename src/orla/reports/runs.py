"""The conditions that were run: networks, frozen and reference errors, steps and updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from orla.reports.study import StudyFacts


class Run(NamedTuple):
    """One condition: its title, and how many pretrained networks were adapted.

    Fields: the errors are means over networks, missing where the task has none; `steps` is of the
    adapt part, None where no learner's cadence is known; `updates` are of one model, by the
    learner's name.
    """

    title: str
    networks: int
    frozen_error: float
    reference_error: float
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
        errors = networks[["frozen_heldout_error", "reference_error"]].mean()
        named = {study.called("learner", name): n for name, n in updates.items()}
        yield Run(title, len(networks), *errors, max(steps, default=None), named)
