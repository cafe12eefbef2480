"""Derivatives of any network, by automatic differentiation of its `step`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vjp, vmap

from orla.architectures.base import Parameters
from orla.derivatives.base import Derivatives, Local, Moment, Tape, axis_of_models


@dataclass(frozen=True)
class AutomaticDerivatives(Derivatives):
    """A step's local term is its term of the parameters' gradient.

    Sensitivities are {parameter: (models, *shape, state)}, dense.
    """

    def step(self, params: Parameters, state: Tensor, moment: Moment) -> tuple[Tensor, Tape]:
        x = moment["x"]
        after = vmap(self.architecture.step, in_dims=(0, 0, axis_of_models(moment)))(
            params, state, x
        )
        return after, {"state": state, "x": x.expand(state.shape[0], -1)}

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        recurrent = {name: params[name] for name in self.recurrent()}

        def pull_one(
            recurrent: Parameters, state: Tensor, x: Tensor, cotangent: Tensor
        ) -> tuple[Parameters, Tensor]:
            _, pull = vjp(lambda p, s: self.architecture.step(p, s, x), recurrent, state)
            return pull(cotangent) if cotangent.dim() == 1 else vmap(pull)(cotangent)

        gradient, on_state = vmap(pull_one)(recurrent, tape["state"], tape["x"], cotangent)
        return on_state, gradient

    def local_like(self, params: Parameters, tape: Tape, cotangent: Tensor) -> Local:
        # Not from derivatives, for which PyTorch loads its compiler.
        return self.no_terms(params)

    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        return {name: gradient.sum(0) for name, gradient in locals_.items()}

    def history(self) -> tuple[str, ...]:
        return self.recurrent()

    def sensitivity(self, params: Parameters) -> Parameters:
        size = self.architecture.state_size
        return {
            name: params[name].new_zeros(*params[name].shape, size) for name in self.recurrent()
        }

    def no_terms(self, params: Parameters) -> Parameters:
        return {name: params[name].new_zeros(params[name].shape) for name in self.recurrent()}

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        gradient = self.gather(tapes, locals_)
        return {name: g + terms[name] for name, g in gradient.items()}

    def with_sensitivity(self, P: Parameters, on_start: Tensor, terms: Parameters) -> Parameters:
        return {name: terms[name] + vmap(torch.matmul)(p, on_start) for name, p in P.items()}

    def rebuild(self, P: Parameters, rows: Tensor, tapes: Tape, locals_: Local) -> None:
        for name, p in P.items():
            through = vmap(torch.matmul)(p, rows.transpose(1, 2))
            torch.add(through, locals_[name].sum(0).movedim(1, -1), out=p)
