"""Softmax cross-entropy over categories."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.losses.base import Loss, mean_scored


@dataclass(frozen=True)
class CrossEntropy(
    Loss,
    name="cross_entropy",
    label="cross-entropy",
    order=20,
    unit="nats",
    targets="categories",
):
    """-log softmax(outputs)[y]; outputs are one logit a category, y is a whole number."""

    def step_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.step_losses(outputs, y)

    def with_cotangent(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        hits = torch.arange(outputs.shape[-1], device=outputs.device) == y
        return self.step_loss(outputs, y), torch.softmax(outputs, -1) - hits.to(outputs.dtype)

    def step_losses(self, outputs: Tensor, Y: Tensor) -> Tensor:
        Y = Y.expand(outputs.shape[:-1])[..., None]
        return torch.logsumexp(outputs, -1) - outputs.gather(-1, Y).squeeze(-1)

    def constant_error(self, Y: Tensor, n_out: int) -> float:
        """The entropy of the categories (nats): that of predicting their shares."""
        shares = torch.bincount(Y, minlength=n_out).double() / len(Y)
        return float(torch.special.entr(shares).sum())

    def scores(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> dict[str, np.ndarray]:
        errors = self.step_losses(outputs, Y).double()
        hits = (outputs.argmax(-1) == Y).double().where(errors.isfinite(), math.nan)
        return {
            "bits_per_symbol": (mean_scored(errors, scored) / math.log(2)).cpu().numpy(),
            "accuracy": mean_scored(hits, scored).cpu().numpy(),
        }

    def columns(self) -> dict[str, str]:
        return {
            "bits_per_symbol": "Mean over the scored steps of -log2 of the probability that the "
            "softmax gives to the target category (bits a symbol).",
            "accuracy": "Share of the scored steps at which the target category has the largest "
            "output (0 to 1).",
        }
