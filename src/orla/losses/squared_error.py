"""Mean squared error over the outputs."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from orla.losses.base import Loss


@dataclass(frozen=True)
class SquaredError(
    Loss, name="squared_error", label="squared error", order=10, unit="variance of the target"
):
    """Mean over the outputs of (output - target)^2. Source: docs/protocol.md, Data."""

    def step_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        error = outputs - y
        return (error * error).mean()

    def with_cotangent(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        # By hand, because compiling automatic differentiation takes seconds.
        error = outputs - y
        return (error * error).mean(), (2.0 / y.shape[0]) * error

    def step_losses(self, outputs: Tensor, Y: Tensor) -> Tensor:
        return ((outputs - Y) ** 2).mean(-1)

    def mean_error(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> Tensor:
        if scored is None:
            return ((outputs - Y) ** 2).mean((1, 2))
        return super().mean_error(outputs, Y, scored)

    def constant_error(self, Y: Tensor, n_out: int) -> float:
        """The targets' variance, mean over the outputs: that of predicting their mean."""
        return float(((Y - Y.mean(0)) ** 2).mean())

    def scores(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> dict[str, np.ndarray]:
        if scored is None:
            squares = (outputs - Y) ** 2, (Y - Y.mean(-2, keepdim=True)) ** 2
        else:
            counts = scored[..., None]
            mean = Y.where(counts, 0.0).sum(-2, keepdim=True) / counts.sum(-2, keepdim=True)
            squares = [s.where(counts, 0.0) for s in ((outputs - Y) ** 2, (Y - mean) ** 2)]
        residual, total = (square.sum(-2).double() for square in squares)
        r2 = (1.0 - residual / total).cpu().numpy()
        r2_of_all = 1.0 - (residual.sum(-1) / total.sum(-1)).cpu().numpy()
        return {
            "r2_x": r2[:, 0],
            "r2_y": r2[:, -1],
            "r2_mean": r2.mean(1),
            "r2_weighted": r2_of_all,
        }

    def columns(self) -> dict[str, str]:
        share = "1 - residual / total sum of squares on the scored steps (no unit, at most 1)"
        return {
            "r2_x": f"R2 of the first output: {share}.",
            "r2_y": f"R2 of the last output: {share}.",
            "r2_mean": "Plain mean over the outputs of their R2 (no unit).",
            "r2_weighted": "R2 of all outputs together, weighted by their variance (no unit).",
        }
