"""Four operations from which learners with sensitivities are built, for one model.

A sensitivity e is dstate/dtheta, or the part of it that a learner keeps. Exact RTRL is
e = transport(jacobian(), e) + direct(); a trace is e = decay e + direct().
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacrev, vjp, vmap

from orla.architectures.base import Architecture, LinearGates, Parameters
from orla.architectures.elementwise import ElementWise, product
from orla.derivatives.base import Tape
from orla.programs.scan import materialize

Sensitivity = dict[str, Tensor]


@dataclass(frozen=True)
class SensitivityOps(ABC):
    """The operations at one step of one model, with `params`, from `state`, at input `x`."""

    architecture: Architecture
    params: Parameters
    state: Tensor
    x: Tensor
    tape: Tape

    @property
    def recurrent(self) -> Parameters:
        """Those of the parameters that the state depends on."""
        return self.architecture.recurrent_params(self.params)

    @abstractmethod
    def zeros(self) -> Sensitivity:
        """The sensitivity before the first step."""

    @abstractmethod
    def direct(self) -> Sensitivity:
        """D_t: derivative of the new state by the parameters, the previous state held fixed."""

    @abstractmethod
    def jacobian(self) -> Tensor:
        """J_t: derivative of the new state by the previous state."""

    @abstractmethod
    def transport(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        """J e."""

    @abstractmethod
    def contract(self, cotangent: Tensor, sensitivity: Sensitivity) -> Parameters:
        """The recurrent parameters' gradient c e, from a cotangent c (state_size,) on the state."""

    def jacobian_within_units(self) -> Tensor:
        """J_t within the units (blocks, blocks, units): of each by its own previous state.

        The state is blocks of `units` numbers; number u of every block belongs to unit u.
        """
        return self.jacobian()

    def transport_within_units(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        """J e, from a Jacobian within the units."""
        return self.transport(jacobian, sensitivity)


@dataclass(frozen=True)
class DenseSensitivityOps(SensitivityOps):
    """For any network; e is {parameter: (state_size, *shape)}, nothing left out."""

    def zeros(self) -> Sensitivity:
        size = self.architecture.state_size
        return {name: p.new_zeros(size, *p.shape) for name, p in self.recurrent.items()}

    def direct(self) -> Sensitivity:
        return jacrev(lambda p: self.architecture.step(p, self.state, self.x))(self.recurrent)

    def jacobian(self) -> Tensor:
        """J_t (state_size, state_size)."""
        return jacrev(lambda s: self.architecture.step(self.params, s, self.x))(self.state)

    def transport(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        return {name: torch.tensordot(jacobian, e, 1) for name, e in sensitivity.items()}

    def contract(self, cotangent: Tensor, sensitivity: Sensitivity) -> Parameters:
        return {name: torch.tensordot(cotangent, e, 1) for name, e in sensitivity.items()}

    @property
    def _unit_count(self) -> int:
        """`hidden` where the state is whole blocks of that; else each number is a unit."""
        size, hidden = self.architecture.state_size, self.architecture.hidden
        return size if size % hidden else hidden

    def jacobian_within_units(self) -> Tensor:
        by_block = (-1, self._unit_count)
        blocks = self.jacobian().unflatten(1, by_block).unflatten(0, by_block)
        return torch.diagonal(blocks, dim1=1, dim2=3)

    def transport_within_units(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        def transport_one(e: Tensor) -> Tensor:
            blocks = e.flatten(1).unflatten(0, (-1, self._unit_count))
            return (jacobian[..., None] * blocks[None]).sum(1).view(e.shape)

        return {name: transport_one(e) for name, e in sensitivity.items()}


@dataclass(frozen=True)
class UnitSensitivityOps(SensitivityOps):
    """For networks with independent units; e holds each unit's state by its own gates alone.

    e is {"e": (state blocks, gates, n_in + hidden + 1)}: as many numbers as the parameters have,
    times the blocks of the state. Influence through the states of other units is left out.
    """

    architecture: LinearGates

    @property
    def _state_block_count(self) -> int:
        return self.architecture.state_size // self.architecture.hidden

    def zeros(self) -> Sensitivity:
        a = self.architecture
        sizes = self._state_block_count, a.preactivation_size, a.n_in + a.hidden + 1
        return {"e": self.state.new_zeros(*sizes)}

    def direct(self) -> Sensitivity:
        gate_jacobian, _ = self.architecture.unit_jacobian(self.tape["cache"])
        inputs = torch.cat([self.x, self.tape["h"], self.x.new_ones(1)])
        return {"e": materialize(gate_jacobian)[:, :, None] * inputs}

    def leak_jacobian(self) -> Tensor:
        """J_t within the units without what passes through W_hh: a leak, the cell of an LSTM."""
        _, leak = self.architecture.unit_jacobian(self.tape["cache"])
        return leak.unflatten(1, (-1, self.architecture.hidden))

    def jacobian(self) -> Tensor:
        """J_t within the units (blocks, blocks, hidden): of their blocks by their previous ones."""
        by_block = (-1, self.architecture.hidden)
        gate_jacobian, _ = self.architecture.unit_jacobian(self.tape["cache"])
        W_hh = self.params["W_hh"].unflatten(0, by_block)
        self_weights = torch.diagonal(W_hh, dim1=1, dim2=2)
        via_gates = (gate_jacobian.unflatten(1, by_block) * self_weights).sum(1)
        by_h = torch.nn.functional.pad(via_gates[:, None], (0, 0, 0, self._state_block_count - 1))
        return self.leak_jacobian() + by_h

    def transport(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        e = sensitivity["e"].unflatten(1, (-1, self.architecture.hidden))
        jacobian = materialize(jacobian)[:, :, None, :, None]
        return {"e": (jacobian * e[None]).sum(1).flatten(1, 2)}

    def contract(self, cotangent: Tensor, sensitivity: Sensitivity) -> Parameters:
        a = self.architecture
        by_unit = cotangent.view(self._state_block_count, 1, a.hidden, 1)
        gradient = (by_unit * sensitivity["e"].unflatten(1, (-1, a.hidden))).sum(0).flatten(0, 1)
        return a.by_parameter(gradient)


@dataclass(frozen=True)
class ElementSensitivityOps(SensitivityOps):
    """For networks whose recurrence is element-wise; e holds each unit's numbers by its own rows.

    e is {parameter: (2, complex_per_unit, *shape)}: of the real and imaginary part of a unit's
    complex numbers by row u of the parameter, u being the unit. Nothing is left out of what depends
    on the past; `feedthrough_input` does not, and `contract` adds its part of the gradient.
    """

    architecture: ElementWise

    def _complex_parts_by_unit(self, numbers: Tensor) -> Tensor:
        """Numbers (..., 2 n) in the order of a state, as (..., 2, complex_per_unit, hidden)."""
        a = self.architecture
        return numbers.unflatten(-1, (2, a.hidden, a.complex_per_unit)).transpose(-1, -2)

    def zeros(self) -> Sensitivity:
        parts = 2, self.architecture.complex_per_unit
        return {name: p.new_zeros(*parts, *p.shape) for name, p in self.recurrent.items()}

    def direct(self) -> Sensitivity:
        a, size = self.architecture, 2 * self.architecture.complex_per_unit
        numbers = slice(2 * a.complex_count)
        _, pull = vjp(lambda p: a.step(p, self.state, self.x)[numbers], self.recurrent)
        # One number of every unit at a time: row u of a parameter moves unit u's numbers alone.
        unit_vectors = torch.eye(size).to(self.state).view(size, 2, 1, a.complex_per_unit)
        (rows,) = vmap(pull)(unit_vectors.expand(-1, -1, a.hidden, -1).flatten(1))
        return {name: d.unflatten(0, (2, a.complex_per_unit)) for name, d in rows.items()}

    def jacobian(self) -> Tensor:
        """lambda (2, complex_per_unit, hidden), real and imaginary parts."""
        return self._complex_parts_by_unit(torch.cat(self.architecture.decay(self.params)))

    def transport(self, jacobian: Tensor, sensitivity: Sensitivity) -> Sensitivity:
        def transport_one(e: Tensor) -> Tensor:
            decay = jacobian.view(*jacobian.shape, *[1] * (e.dim() - 3))
            return torch.stack(product((decay[0], decay[1]), (e[0], e[1])))

        return {name: transport_one(e) for name, e in sensitivity.items()}

    def contract(self, cotangent: Tensor, sensitivity: Sensitivity) -> Parameters:
        a = self.architecture
        h_cotangent, v_cotangent = cotangent.split([2 * a.complex_count, a.feedthrough_size])
        h_cotangent = self._complex_parts_by_unit(h_cotangent)
        gradient = {
            name: (h_cotangent.view(*h_cotangent.shape, *[1] * (e.dim() - 3)) * e).sum((0, 1))
            for name, e in sensitivity.items()
        }
        if not a.feedthrough_size:
            return gradient
        _, pull = vjp(lambda p: a.feedthrough_input(p, self.x), self.recurrent)
        (present,) = pull(v_cotangent)
        return {name: g + present[name] for name, g in gradient.items()}


def can_use_unit_sensitivity(architecture: Architecture) -> bool:
    """Whether `UnitSensitivityOps` can be used with the architecture."""
    return isinstance(architecture, LinearGates) and architecture.units_independent
