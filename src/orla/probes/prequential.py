"""Accuracy of each step, tested before it is learned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.probes.base import Probe, State, Update


@dataclass(frozen=True)
class Prequential(
    Probe,
    name="prequential",
    label="prequential accuracy",
    kept="window",
    columns={"prequential_accuracy": "share of steps right before they were learned from (%)"},
    profiles={"accuracy": "share of steps right before they were learned from (%), by window"},
):
    """Test, then train (Dawid 1984): the class of the largest output, before the step's update.

    The first windows are left out of `prequential_accuracy`: a rate is chosen by them. Of targets
    that are values the class is the largest one. A learner that updates once a window is tested at
    the window's last step alone.
    """

    reads_outputs: ClassVar[bool] = True
    window: int = option(1000, "Steps of a window.", least=1)
    skip: float = option(0.1, "Share of the windows that is left out, the first ones.", least=0)

    def init(self, params: Parameters) -> State:
        zero = next(iter(params.values())).flatten()[0] * 0.0
        return {"hits": zero, "tested": zero.clone()}

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, torch.Tensor]]:
        y = update.stream["y"][-1] if update.error.dim() else update.stream["y"]
        y = y.argmax(-1) if y.is_floating_point() else y
        hit = (update.outputs.argmax(-1) == y).to(state["hits"].dtype)
        weight = update.stream.get("scored", torch.ones_like(hit))
        weight = (weight[-1] if weight.dim() else weight).to(hit.dtype)
        return {"hits": state["hits"] + hit * weight, "tested": state["tested"] + weight}, {}

    def profile(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with np.errstate(invalid="ignore"):
            return {"accuracy": 100.0 * series["hits"] / series["tested"]}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        later = slice(windows_to_skip(series["hits"].shape[1], self.skip), None)
        hits, total = (series[name][:, later].sum(1) for name in ("hits", "tested"))
        with np.errstate(invalid="ignore"):
            return {"prequential_accuracy": 100.0 * hits / total}


def windows_to_skip(windows: int, share: float) -> int:
    """How many of the first windows are left out: this share of them, rounded up."""
    return math.ceil(round(share * windows, 9))
