"""Adafactor with a constant learning rate."""

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State, UpdatesAndState


@dataclass(frozen=True)
class Adafactor(
    Optimizer,
    name="adafactor",
    label="Adafactor",
    order=20,
    mark=Mark("#9c2a5b", "s", (0, (5, 1.5))),
    grid={"step": [0.0001, 0.0003, 0.001], "window": [0.001, 0.003, 0.01]},
):
    """Adafactor (Shazeer and Stern 2018, algorithm 4) without relative step or parameter scaling.

    Matrices of any size are factored; beta2_t = 1 - t^-0.8; eps 1e-30 is added to the squared
    gradient; each tensor's update is clipped to an RMS of 1 and multiplied by the learning rate.
    """

    decay: float = option(0.8, "beta2_t = 1 - t^-decay.", above=0)
    eps: float = option(1e-30, "Added to the squared gradient.", least=0)
    clip_rms: float = option(1.0, "Root mean square that an update is clipped to.", above=0)

    def init(self, params: Parameters) -> State:
        one = next(iter(params.values())).new_ones(())
        state = {"step": one, "new_share": one}
        for name, p in params.items():
            if p.dim() == 2:
                state[f"rows.{name}"] = p.new_zeros(p.shape[0])
                state[f"columns.{name}"] = p.new_zeros(p.shape[1])
            else:
                state[f"v.{name}"] = torch.zeros_like(p)
        return state

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        new, updates = dict(state), {}
        for name, g in gradients.items():
            direction = g / self._root_second_moment(name, g * g + self.eps, state, new)
            rms = torch.sqrt((direction * direction).mean())
            clip = torch.clamp(rms / self.clip_rms, min=1.0)
            updates[name] = (-lr / clip) * direction
        new["step"] = state["step"] + 1.0
        new["new_share"] = new["step"] ** -self.decay
        return updates, new

    @staticmethod
    def _root_second_moment(name: str, square: Tensor, state: State, out: State) -> Tensor:
        """Root of the new second moment of a parameter, which is written into `out`."""
        new, old = state["new_share"], 1.0 - state["new_share"]
        if square.dim() < 2:
            v = out[f"v.{name}"] = old * state[f"v.{name}"] + new * square
            return torch.sqrt(v)
        rows = out[f"rows.{name}"] = old * state[f"rows.{name}"] + new * square.mean(-1)
        columns = out[f"columns.{name}"] = old * state[f"columns.{name}"] + new * square.mean(-2)
        return torch.sqrt(rows / rows.mean())[:, None] * torch.sqrt(columns)[None, :]
