"""Four operations from which learners with sensitivities are built, for one model.

A sensitivity e is dstate/dtheta, or the part of it that a learner keeps. The operations of a step
are the direct derivative D_t (`direct`), the Jacobian J_t = dh_t/dh_{t-1} (`jacobian`), the product
J_t e (`transport`), and the gradient (dL/dh_t) e (`contract`). Exact RTRL is
e = transport(jacobian(), e) + direct(); a trace is e = decay e + direct().
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacrev

from orla.architectures.base import Architecture, LinearGates, Parameters
from orla.derivatives.base import Tape
from orla.programs.scan import stored

Influence = dict[str, Tensor]


@dataclass(frozen=True)
class Words(ABC):
    """The operations at one step of one model, with `params`, from `state`, at input `x`."""

    architecture: Architecture
    params: Parameters
    state: Tensor
    x: Tensor
    tape: Tape

    @abstractmethod
    def zeros(self) -> Influence:
        """The sensitivity before the first step."""

    @abstractmethod
    def direct(self) -> Influence:
        """D_t: derivative of the new state by the parameters, the previous state held fixed."""

    @abstractmethod
    def jacobian(self) -> Tensor:
        """J_t: derivative of the new state by the previous state."""

    @abstractmethod
    def transport(self, jacobian: Tensor, influence: Influence) -> Influence:
        """J e."""

    @abstractmethod
    def contract(self, cotangent: Tensor, influence: Influence) -> Parameters:
        """The recurrent parameters' gradient c e, from a cotangent c (state_size,) on the state."""


@dataclass(frozen=True)
class DenseWords(Words):
    """For any network; e is {parameter: (state_size, *shape)}, nothing left out."""

    def _recurrent(self) -> Parameters:
        return {name: self.params[name] for name in self.architecture.recurrent_shapes()}

    def zeros(self) -> Influence:
        size = self.architecture.state_size
        return {name: p.new_zeros(size, *p.shape) for name, p in self._recurrent().items()}

    def direct(self) -> Influence:
        return jacrev(lambda p: self.architecture.step(p, self.state, self.x))(self._recurrent())

    def jacobian(self) -> Tensor:
        """(state_size, state_size)."""
        return jacrev(lambda s: self.architecture.step(self.params, s, self.x))(self.state)

    def transport(self, jacobian: Tensor, influence: Influence) -> Influence:
        return {name: torch.tensordot(jacobian, e, 1) for name, e in influence.items()}

    def contract(self, cotangent: Tensor, influence: Influence) -> Parameters:
        return {name: torch.tensordot(cotangent, e, 1) for name, e in influence.items()}


@dataclass(frozen=True)
class OwnUnitWords(Words):
    """For networks with independent units; e holds each unit's state by its own gates alone.

    e is {"e": (state blocks, gates, n_in + hidden + 1)}: as many numbers as the parameters have,
    times the blocks of the state. Influence through the states of other units is left out.
    """

    architecture: LinearGates

    @property
    def _blocks(self) -> int:
        return self.architecture.state_size // self.architecture.hidden

    def zeros(self) -> Influence:
        a = self.architecture
        return {"e": self.state.new_zeros(self._blocks, a.gates, a.n_in + a.hidden + 1)}

    def direct(self) -> Influence:
        on_gates, _ = self.architecture.unit_jacobian(self.tape["cache"])
        joined = torch.cat([self.x, self.tape["h"], self.x.new_ones(1)])
        return {"e": stored(on_gates)[:, :, None] * joined}

    def jacobian(self) -> Tensor:
        """(blocks, blocks, hidden): of each unit's state blocks by its own previous ones."""
        a = self.architecture
        on_gates, around = a.unit_jacobian(self.tape["cache"])
        own = torch.diagonal(self.params["W_hh"].unflatten(0, (-1, a.hidden)), dim1=1, dim2=2)
        through = (on_gates.unflatten(1, (-1, a.hidden)) * own).sum(1)
        by_h = torch.nn.functional.pad(through[:, None], (0, 0, 0, self._blocks - 1))
        return around.unflatten(1, (-1, a.hidden)) + by_h

    def transport(self, jacobian: Tensor, influence: Influence) -> Influence:
        e = influence["e"].unflatten(1, (-1, self.architecture.hidden))
        jacobian = stored(jacobian)[:, :, None, :, None]
        return {"e": (jacobian * e[None]).sum(1).flatten(1, 2)}

    def contract(self, cotangent: Tensor, influence: Influence) -> Parameters:
        a = self.architecture
        by_unit = cotangent.view(self._blocks, 1, a.hidden, 1)
        gradient = (by_unit * influence["e"].unflatten(1, (-1, a.hidden))).sum(0).flatten(0, 1)
        return {
            "W_ih": gradient[:, : a.n_in],
            "W_hh": gradient[:, a.n_in : -1],
            "b_h": gradient[:, -1],
        }


def own_units(architecture: Architecture) -> bool:
    """Whether `OwnUnitWords` can be used with the architecture."""
    return isinstance(architecture, LinearGates) and architecture.units_independent
