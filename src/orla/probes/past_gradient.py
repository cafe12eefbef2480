"""The past's share of the gradient: g_past = g_full - g_imm."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.catalogue import option
from orla.probes.base import Probe, State, Update


@dataclass(frozen=True)
class PastGradient(
    Probe,
    name="past_gradient",
    label="past gradient",
    columns={
        "past_cosine": "mean of the cosine of g_imm and g_past over the updates that have one",
        "past_ratio": "mean of ||g_past|| / ||g_imm|| over the updates that have one",
    },
):
    """Cosine and norm ratio of g_imm and g_past = g_full - g_imm (paper, Section 3, tab:cosine).

    One of the two is the learner's own gradient or an observer's, by name. An update in which g_imm
    is 0 has neither; one in which g_past is 0, such as the first, has no cosine.
    """

    full: str = option(text="The observer with the full gradient; own for the learner's.")
    immediate: str = option("own", "The observer with the immediate gradient; own likewise.")

    def observers(self) -> tuple[str, ...]:
        return tuple(name for name in (self.full, self.immediate) if name != "own")

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        gradients = {**update.observers, "own": update.learner}
        full, imm = gradients[self.full], gradients[self.immediate]
        names = [name for name in update.params if name in full and name in imm]
        past = torch.cat([(full[name] - imm[name]).reshape(-1) for name in names])
        now = torch.cat([imm[name].reshape(-1) for name in names])
        norms = torch.sqrt((past * past).sum()), torch.sqrt((now * now).sum())
        return state, {
            "past_cosine": (past * now).sum() / (norms[0] * norms[1]),
            "past_ratio": norms[0] / norms[1],
        }

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with warnings.catch_warnings(action="ignore"):  # of a mean of nothing, which is NaN
            finite = {n: np.where(np.isfinite(v), v, np.nan) for n, v in series.items()}
            return {name: np.nanmean(finite[name], 1) for name in self.part.more["columns"]}
