"""The base class of losses: the error of one step of one model, and further scores."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.func import grad_and_value

from orla.catalogue import Part


class Loss(Part, ABC):
    """The error of a step, written for one model; the batch of models is added outside.

    unit: Unit of an error, for captions.
    targets: "values" or "categories", the kind of its targets.
    """

    kind: ClassVar[str] = "loss"
    declares: ClassVar[Mapping[str, Any]] = {"unit": "", "targets": "values"}

    @abstractmethod
    def step_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Error of one step (), from outputs (n_out,) and target (n_out,) or a category ()."""

    def with_cotangent(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """`step_loss` and its derivative by the outputs (n_out,), by automatic differentiation."""
        cotangent, error = grad_and_value(self.step_loss)(outputs, y)
        return error, cotangent

    @abstractmethod
    def step_losses(self, outputs: Tensor, Y: Tensor) -> Tensor:
        """Errors (models, steps) of outputs (models, steps, n_out) at targets Y.

        Y is (steps, ...) shared by the models or (models, steps, ...).
        """

    def mean_error(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> Tensor:
        """Mean error (models,) over the scored steps; arguments as those of `scores`."""
        return mean_scored(self.step_losses(outputs, Y), scored)

    def constant_error(self, Y: Tensor, n_out: int) -> float:
        """Mean error of the best outputs that are the same at each step; Y of the scored steps.

        By default they are searched for by a quasi-Newton method (torch.optim.LBFGS): exact where
        `step_losses` is convex in the outputs. Override it where a formula is known.
        """
        if self.part.more["targets"] == "categories":
            shares = torch.bincount(Y, minlength=n_out).double() / len(Y)
            outputs = shares.clamp(min=1e-6).log()
        else:
            outputs = Y.mean(0)
        outputs = outputs.requires_grad_()
        limits = {"max_iter": 200, "tolerance_grad": 1e-12, "tolerance_change": 1e-15}
        search = torch.optim.LBFGS([outputs], **limits, line_search_fn="strong_wolfe")

        def mean() -> Tensor:
            search.zero_grad()
            error = self.step_losses(outputs.expand(1, len(Y), n_out), Y).mean()
            error.backward()
            return error

        search.step(mean)
        return float(self.step_losses(outputs.detach().expand(1, len(Y), n_out), Y).mean())

    def scores(self, outputs: Tensor, Y: Tensor, scored: Tensor | None) -> dict[str, np.ndarray]:
        """Further scores on a held-out part: {column: (models,)}; `columns` names them all.

        scored: bool (steps,) or (models, steps); None where every step counts.
        """
        return {}

    def columns(self) -> dict[str, str]:
        """Columns of `scores`: a sentence with the unit of each."""
        return {}


def mean_scored(values: Tensor, scored: Tensor | None) -> Tensor:
    """Mean over the last axis, steps, of `values` (..., steps) where `scored` is True.

    scored: bool, of a shape that broadcasts with `values`; None where every step counts.
    """
    if scored is None:
        return values.mean(-1)
    return values.where(scored, 0.0).sum(-1) / scored.sum(-1)
