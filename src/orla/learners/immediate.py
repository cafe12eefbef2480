"""Immediate derivatives: the past is held fixed."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from orla.architectures import Parameters
from orla.learners.base import Carry, Learner
from orla.programs.scan import scan


@dataclass(frozen=True)
class Immediate(Learner):
    """Gradient (dL/dh_t) dh_t/dtheta with h_{t-1} held fixed (the paper's d=0).

    `window` such gradients are summed between two updates; 1 is an update at every step.
    """

    window: int = 1

    @property
    def stride(self) -> int:
        return self.window

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        derivatives = self.derivatives

        def one(
            state: Tensor, xy: tuple[Tensor, Tensor], params: Parameters
        ) -> tuple[Tensor, tuple]:
            x, y = xy
            after, tape = derivatives.forward(params, state, x)
            loss, cotangent, readout = derivatives.readout(params, after, y)
            _, local = derivatives.pull(params, tape, cotangent)
            return after, (loss, readout, tape, local)

        state, (losses, readout, tapes, locals_) = scan(
            one, carry["state"], (X, Y), constants=(params,)
        )
        gradient = derivatives.gather(tapes, locals_)
        gradient |= {name: g.sum(0) for name, g in readout.items()}
        return {"state": state}, gradient, losses
