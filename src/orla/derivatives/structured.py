"""Derivatives of networks whose parameters enter through linear pre-activations."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import LinearGates, Parameters
from orla.derivatives.base import Derivatives, Local, StreamStep, Tape, axis_of_models

# Bytes of the panels in which P is rebuilt: one fits the L2 cache of a core.
_PANEL = 1_000_000


@dataclass(frozen=True)
class StructuredDerivatives(Derivatives):
    """A step's local term is the cotangent on the pre-activations, "gates" (models, gates).

    The parameters' gradient is its outer product with the inputs of the pre-activations, (x, h, 1).
    Sensitivities are {"P": (models, state, gates, n_in + hidden + 1)}; each product with P or D is
    a matmul.
    """

    architecture: LinearGates
    outer_products: ClassVar[bool] = True

    def step(self, params: Parameters, state: Tensor, step: StreamStep) -> tuple[Tensor, Tape]:
        x, in_dims = step["x"], (0, 0, axis_of_models(step))
        next_state, cache = vmap(self.architecture.step_with_cache, in_dims)(params, state, x)
        h = state[:, : self.architecture.hidden]
        # A shared x is expanded, so that every entry of the tape has an axis of models.
        return next_state, {"cache": cache, "h": h, "x": x.expand(h.shape[0], -1)}

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        gates_cotangent, leak_cotangent = vmap(self.architecture.pull)(tape["cache"], cotangent)
        state_cotangent = self.pad_cotangent(transpose_product(params["W_hh"], gates_cotangent))
        return state_cotangent + leak_cotangent, {"gates": gates_cotangent}

    def push_step(self, params: Parameters, tape: Tape, prior: Tensor, tangent: Tensor) -> Tensor:
        a = self.architecture
        if not a.units_independent:
            return super().push_step(params, tape, prior, tangent)
        rows = tangent if tangent.dim() == 3 else tangent[:, None]
        h = rows[:, :, : a.hidden]
        if tangent.dim() == 2:
            gates_tangent = (params["W_hh"] * h).sum(-1)[:, None]
        else:
            gates_tangent = torch.bmm(h, params["W_hh"].transpose(1, 2))
        # A unit's blocks (models, rows, 1 or blocks after, blocks before, hidden).
        gate_jacobian, leak_jacobian = (
            j.unflatten(2, (-1, a.hidden))[:, None] for j in vmap(a.unit_jacobian)(tape["cache"])
        )
        via_gates = (gate_jacobian * gates_tangent.unflatten(2, (-1, a.hidden))[:, :, None]).sum(3)
        via_leak = (leak_jacobian * rows.unflatten(2, (-1, a.hidden))[:, :, None]).sum(3)
        return (via_gates + via_leak).view(tangent.shape)

    def tape_for_pull(self, tape: Tape) -> Tape:
        return {name: tape[name] for name in ("cache", "keep") if name in tape}

    def summed_gradient(self, tapes: Tape, locals_: Local) -> Parameters:
        gates_cotangent = locals_["gates"]
        if len(gates_cotangent) == 1:
            delta = gates_cotangent[0][:, :, None]
            W_ih, W_hh = (delta * tapes[name][0][:, None, :] for name in ("x", "h"))
            return {"W_ih": W_ih, "W_hh": W_hh, "b_h": gates_cotangent[0]}
        delta = gates_cotangent.permute(1, 2, 0)
        W_ih, W_hh = (torch.bmm(delta, tapes[name].transpose(0, 1)) for name in ("x", "h"))
        return {"W_ih": W_ih, "W_hh": W_hh, "b_h": gates_cotangent.sum(0)}

    def one_step_gradient_square(self, tapes: Tape, locals_: Local) -> Tensor:
        [gates_cotangent], [inputs] = locals_["gates"], self.augmented_inputs(tapes)
        return (gates_cotangent * gates_cotangent).sum(-1) * (inputs * inputs).sum(-1)

    def params_for_pull(self) -> tuple[str, ...]:
        return ("W_hh",)

    def augmented_inputs(self, tape: Tape) -> Tensor:
        """[x, h, 1] of a step (models, n_in + hidden + 1), or of steps on one axis more."""
        ones = tape["x"].new_ones(*tape["x"].shape[:-1], 1)
        return torch.cat([tape["x"], tape["h"], ones], -1)

    def zero_sensitivity(self, params: Parameters) -> Parameters:
        terms = self.zero_gradient_terms(params)["P"]
        size = self.architecture.state_size
        return {"P": terms.new_zeros(len(terms), size, *terms.shape[1:])}

    def zero_gradient_terms(self, params: Parameters) -> Parameters:
        a, W_hh = self.architecture, params["W_hh"]
        return {"P": W_hh.new_zeros(len(W_hh), a.preactivation_size, a.n_in + a.hidden + 1)}

    def accumulate_gradient_terms(
        self, terms: Parameters, tapes: Tape, locals_: Local
    ) -> Parameters:
        delta = locals_["gates"].permute(1, 2, 0)
        inputs = self.augmented_inputs(tapes).transpose(0, 1)
        return {"P": torch.baddbmm(terms["P"], delta, inputs)}

    def gradient_within_block(
        self, sensitivity: Parameters, start_cotangent: Tensor, terms: Parameters
    ) -> Parameters:
        rows = terms["P"].flatten(1)[:, None]
        gradient = torch.baddbmm(rows, start_cotangent[:, None], sensitivity["P"].flatten(2))
        return self.architecture.by_parameter(gradient.view(terms["P"].shape))

    def advance_sensitivity_over_block(
        self, sensitivity: Parameters, block_jacobian: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        inputs = self.augmented_inputs(tapes).transpose(0, 1)
        # Both products are done panel by panel, while the panel is in cache.
        _, state, gates, length = sensitivity["P"].shape
        width = max(1, _PANEL // (state * length * sensitivity["P"].element_size()))
        for model, part in enumerate(sensitivity["P"]):
            for first in range(0, gates, width):
                panel = slice(first, first + width)
                delta = locals_["gates"][:, model, :, panel].permute(1, 2, 0).flatten(0, 1)
                product = torch.mm(block_jacobian[model], part[:, panel].flatten(1))
                product = product.view(-1, length).addmm_(delta, inputs[model])
                part[:, panel] = product.view(state, -1, length)


def transpose_product(matrix: Tensor, gates_cotangent: Tensor) -> Tensor:
    """matrix^T c for cotangents c (models, gates), or rows of them (models, rows, gates)."""
    if gates_cotangent.dim() == 2:
        return (matrix * gates_cotangent[:, :, None]).sum(1)
    return torch.bmm(gates_cotangent, matrix)
