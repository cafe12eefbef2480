"""Derivatives of networks whose parameters enter through linear pre-activations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import LinearGates, Parameters
from orla.derivatives.base import Derivatives, Local, Moment, Tape, axis_of_models


@dataclass(frozen=True)
class StructuredDerivatives(Derivatives):
    """A step's local term is the cotangent on the pre-activations, "gates" (models, gates).

    The parameters' gradient is its outer product with the inputs of the pre-activations, (x, h, 1).
    """

    architecture: LinearGates

    def step(self, params: Parameters, state: Tensor, moment: Moment) -> tuple[Tensor, Tape]:
        x = moment["x"]
        after, cache = vmap(
            self.architecture.step_with_cache, in_dims=(0, 0, axis_of_models(moment))
        )(params, state, x)
        h = state[:, : self.architecture.hidden]
        # A shared x is expanded, so that every entry of the tape has an axis of models.
        return after, {"cache": cache, "h": h, "x": x.expand(h.shape[0], -1)}

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        on_gates, around = vmap(self.architecture.pull)(tape["cache"], cotangent)
        on_state = self._through_recurrence(params["W_hh"], on_gates)
        return on_state + around, {"gates": on_gates}

    def pulled(self, tape: Tape) -> Tape:
        return {name: tape[name] for name in ("cache", "keep") if name in tape}

    def _through_recurrence(self, W_hh: Tensor, on_gates: Tensor) -> Tensor:
        """W_hh^T on_gates for on_gates (models, gates) or rows of them (models, rows, gates)."""
        if on_gates.dim() == 2:
            on_h = (W_hh * on_gates[:, :, None]).sum(1)
        else:
            on_h = torch.bmm(on_gates, W_hh)
        return self.on_state(on_h)

    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        on_gates = locals_["gates"]
        if on_gates.shape[0] == 1:
            delta = on_gates[0][:, :, None]
            return {
                "W_ih": delta * tapes["x"][0][:, None, :],
                "W_hh": delta * tapes["h"][0][:, None, :],
                "b_h": on_gates[0],
            }
        delta = on_gates.permute(1, 2, 0)
        return {
            "W_ih": torch.bmm(delta, tapes["x"].transpose(0, 1)),
            "W_hh": torch.bmm(delta, tapes["h"].transpose(0, 1)),
            "b_h": on_gates.sum(0),
        }

    def history(self) -> tuple[str, ...]:
        return ("W_hh",)

    def joined(self, tape: Tape) -> Tensor:
        """[x, h, 1] of a step (models, n_in + hidden + 1), or of steps on one axis more."""
        ones = tape["x"].new_ones(*tape["x"].shape[:-1], 1)
        return torch.cat([tape["x"], tape["h"], ones], -1)

    def parted(self, gradient: Tensor) -> Parameters:
        """A gradient (models, gates, n_in + hidden + 1) in the order of `joined`, by parameter."""
        n_in = self.architecture.n_in
        return {
            "W_ih": gradient[:, :, :n_in],
            "W_hh": gradient[:, :, n_in:-1],
            "b_h": gradient[:, :, -1],
        }
