"""The conditions that were run: networks, frozen and reference errors, steps and updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from orla.reports.study import StudyFacts


@dataclass(frozen=True)
class Run:
    """One condition.

    Attributes:
        title: network, precision, split, and what else varies.
        networks: how many pretrained networks were adapted.
        frozen_error, reference_error: mean over networks; missing where the task has none.
        steps: of the adapt part, or None where no learner's cadence is known.
        updates: learner -> updates of one model.
    """

    title: str
    networks: int
    frozen_error: float
    reference_error: float
    steps: int | None
    updates: dict[str, int]


def runs(heldout: pd.DataFrame, study: StudyFacts) -> Iterator[Run]:
    """The conditions of results/heldout (one row a model), in order."""
    for title, _, rows in study.groups(heldout):
        updates = rows.groupby("learner", sort=False)["updates"].max().astype(int).to_dict()
        strides = {learner: study.stride(learner) for learner in updates}
        steps = [updates[name] * stride for name, stride in strides.items() if stride]
        networks = rows.drop_duplicates("seed")
        yield Run(
            title=title,
            networks=len(networks),
            frozen_error=networks["frozen_heldout_error"].mean(),
            reference_error=networks["reference_error"].mean(),
            steps=max(steps, default=None),
            updates=updates,
        )
