"""Exact RTRL's sensitivities P = dstate/dtheta: their layout, and the two products with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.base import Derivatives, Local, Tape
from orla.derivatives.structured import StructuredDerivatives
from orla.programs.scan import readable

# Bytes of the panels in which P is rebuilt. On a CPU a panel fits the L2 cache of a core; on a GPU
# larger panels mean fewer launches.
_PANEL = 1_000_000
_PANEL_ON_DEVICE = 256_000_000


@dataclass(frozen=True)
class Sensitivity(ABC):
    """P of the networks of `derivatives`, and the terms lambda_k D_k of a block's steps."""

    derivatives: Derivatives

    @abstractmethod
    def zeros(self, params: Parameters) -> Parameters:
        """P before the first step."""

    @abstractmethod
    def no_terms(self, params: Parameters) -> Parameters:
        """Terms of no step: zeros, of the shape of P without the state's axis."""

    @abstractmethod
    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        """`terms` plus those of further steps (first axis of `tapes` and `locals_`)."""

    @abstractmethod
    def gradient(self, P: Parameters, on_start: Tensor, terms: Parameters) -> Parameters:
        """Gradient of the recurrent parameters at a step within a block.

        Args:
            P: At the block's start.
            on_start: Cotangent (models, state_size) pulled back to the block's start.
            terms: Those of the block's own steps, from `with_terms`.
        """

    @abstractmethod
    def rebuild(self, P: Parameters, rows: Tensor, tapes: Tape, locals_: Local) -> None:
        """Compute P at the end of a block from P at its start, in place.

        Args:
            P: At the block's start.
            rows: Unit vectors pulled back to the block's start (models, state_size, state_size).
            tapes: The block's tapes, steps on the first axis.
            locals_: The unit vectors' local terms, steps on the first axis.
        """


@dataclass(frozen=True)
class StructuredSensitivity(Sensitivity):
    """{"P": (models, state, gates, n_in + hidden + 1)}; each product with P or D is a matmul."""

    derivatives: StructuredDerivatives

    def zeros(self, params: Parameters) -> Parameters:
        a, W_hh = self.derivatives.architecture, params["W_hh"]
        return {"P": W_hh.new_zeros(len(W_hh), a.state_size, a.gates, a.n_in + a.hidden + 1)}

    def no_terms(self, params: Parameters) -> Parameters:
        a, W_hh = self.derivatives.architecture, params["W_hh"]
        return {"P": W_hh.new_zeros(len(W_hh), a.gates, a.n_in + a.hidden + 1)}

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        delta = locals_["gates"].permute(1, 2, 0)
        joined = self.derivatives.joined(tapes).transpose(0, 1)
        return {"P": torch.baddbmm(terms["P"], delta, joined)}

    def gradient(self, P: Parameters, on_start: Tensor, terms: Parameters) -> Parameters:
        rows = terms["P"].flatten(1)[:, None]
        gradient = torch.baddbmm(rows, on_start[:, None], P["P"].flatten(2))
        return self.derivatives.parted(gradient.view(terms["P"].shape))

    def rebuild(self, P: Parameters, rows: Tensor, tapes: Tape, locals_: Local) -> None:
        joined = self.derivatives.joined(tapes).transpose(0, 1)
        # On a CPU both products are done panel by panel, while the panel is in cache.
        together, panel = (1, _PANEL) if readable(rows) else (len(rows), _PANEL_ON_DEVICE)
        for model in range(0, len(rows), together):
            some = slice(model, model + together)
            part = P["P"][some]
            _, state, gates, length = part.shape
            width = max(1, panel // (together * state * length * part.element_size()))
            for first in range(0, gates, width):
                at = slice(first, first + width)
                delta = locals_["gates"][:, some, :, at].permute(1, 2, 3, 0).flatten(1, 2)
                after = torch.bmm(rows[some], part[:, :, at].flatten(2)).view(together, -1, length)
                part[:, :, at] = after.baddbmm_(delta, joined[some]).view(
                    together, state, -1, length
                )


@dataclass(frozen=True)
class AutomaticSensitivity(Sensitivity):
    """{parameter: (models, *shape, state)}: dense, for any network."""

    derivatives: AutomaticDerivatives

    def zeros(self, params: Parameters) -> Parameters:
        size = self.derivatives.architecture.state_size
        return {
            name: params[name].new_zeros(*params[name].shape, size)
            for name in self.derivatives.recurrent()
        }

    def no_terms(self, params: Parameters) -> Parameters:
        return {
            name: params[name].new_zeros(params[name].shape)
            for name in self.derivatives.recurrent()
        }

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        gathered = self.derivatives.gather(tapes, locals_)
        return {name: g + terms[name] for name, g in gathered.items()}

    def gradient(self, P: Parameters, on_start: Tensor, terms: Parameters) -> Parameters:
        return {name: terms[name] + vmap(torch.matmul)(p, on_start) for name, p in P.items()}

    def rebuild(self, P: Parameters, rows: Tensor, tapes: Tape, locals_: Local) -> None:
        for name, p in P.items():
            carried = vmap(torch.matmul)(p, rows.transpose(1, 2))
            torch.add(carried, locals_[name].sum(0).movedim(1, -1), out=p)
