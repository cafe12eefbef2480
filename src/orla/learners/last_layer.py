"""Readout only: the floor that remapping the output reaches."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from orla.architectures import Parameters
from orla.learners.base import Carry, Learner


@dataclass(frozen=True)
class LastLayer(Learner):
    """Exact gradient of W_out and b_out at every step; the recurrent parameters stand still."""

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        state, _ = self.derivatives.forward(params, carry["state"], X[0])
        loss, _, readout = self.derivatives.readout(params, state, Y[0])
        return {"state": state}, readout, loss[None]
