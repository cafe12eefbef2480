"""Huber's loss: squared where an error is small, linear where it is large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.catalogue import option
from orla.losses.base import Loss, mean_scored


@dataclass(frozen=True)
class Huber(Loss, name="huber", label="Huber", order=15, unit="variance of the target"):
    """e^2 / 2 up to delta and delta (|e| - delta / 2) beyond, mean over the outputs (Huber 1964).

    As torch.nn.HuberLoss. The error is the one of an output; what is reported is its size.
    """

    delta: float = option(1.0, "Error from which on it is linear.", above=0)

    def step_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.step_losses(outputs, y)

    def step_losses(self, outputs: Tensor, Y: Tensor) -> Tensor:
        size = (outputs - Y).abs()
        small = torch.clamp(size, max=self.delta)
        return (small * (size - 0.5 * small)).mean(-1)

    def scores(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> dict[str, np.ndarray]:
        absolute = (outputs - Y).abs().mean(-1)
        return {"absolute_error": mean_scored(absolute, scored).double().cpu().numpy()}

    def columns(self) -> dict[str, str]:
        return {"absolute_error": "Mean absolute error over the scored steps (SD of the target)."}
