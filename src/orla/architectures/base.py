"""The base classes of recurrent networks: pure functions of one model's parameters."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.catalogue import Part, option

Parameters = dict[str, Tensor]
Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pattern:
    """Which numbers of a network's next state depend directly on what; True where they do.

    by_state: (state_size, state_size): number i of the next state on number k of the previous one.
    by_parameter: {name: (state_size, *shape)}, or shapes that broadcast to these: number i of the
        next state on each number of the parameter, the previous state held fixed.
    """

    by_state: Tensor
    by_parameter: dict[str, Tensor]


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix @ vector, as a sum: the compiler fuses it, and its rounding depends on no batch."""
    return (matrix * vector).sum(-1)


def column_major(params: Parameters) -> Parameters:
    """The same parameters (models, ...), each matrix column-major: its row index varies fastest.

    `matvec` is then several times as fast in float64. They come in the order of their names,
    because a compiled program serves one order alone.
    """
    return {name: p.mT.contiguous().mT if p.dim() > 2 else p for name, p in sorted(params.items())}


@dataclass(frozen=True)
class Architecture(Part, ABC):
    """A recurrent network with `hidden` units, `n_in` inputs and `n_out` linear outputs.

    The state is a flat vector of `state_size` numbers; the readout uses the first `hidden`. The
    methods are for one model; the loop adds the batch of models by torch.func.vmap.
    """

    kind: ClassVar[str] = "architecture"

    hidden: int = option(64, "Hidden units.", least=1)
    n_in: int = 1
    n_out: int = 1

    @property
    def state_size(self) -> int:
        """Length of the flat state vector; `hidden` unless an architecture says otherwise."""
        return self.hidden

    @abstractmethod
    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter that the state depends on."""

    @abstractmethod
    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        """Next state (state_size,) from the state (state_size,) and the input x (n_in,)."""

    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter that `readout` alone uses, W_out and b_out last."""
        return {"W_out": (self.n_out, self.hidden), "b_out": (self.n_out,)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter, the readout's last."""
        return {**self.recurrent_shapes(), **self.readout_shapes()}

    def recurrent_params(self, params: Parameters) -> Parameters:
        """Those of the parameters that the state depends on."""
        return {name: params[name] for name in self.recurrent_shapes()}

    def parameter_count(self) -> int:
        """Number of parameters of a model."""
        return sum(math.prod(shape) for shape in self.shapes().values())

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """Fresh parameters: weights and biases uniform in +-1/sqrt(hidden), as torch.nn.RNN."""
        bound, params = 1.0 / math.sqrt(self.hidden), {}
        for name, shape in self.shapes().items():
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
            params[name] = ((2.0 * uniform - 1.0) * bound).to(dtype)
        return params

    def pattern(self) -> Pattern | None:
        """Which numbers of the next state depend directly on what; None where it is not declared.

        What is False here is zero in every network, and what is True is not, single states aside.
        """
        return None

    def initial_state(self, params: Parameters) -> Tensor:
        """State before the first step: zeros (state_size,)."""
        return params["W_out"].new_zeros(self.state_size)

    def readout(self, params: Parameters, state: Tensor) -> Tensor:
        """Output (n_out,) = W_out h + b_out, h being the first `hidden` entries of the state."""
        return matvec(params["W_out"], state[: self.hidden]) + params["b_out"]


@dataclass(frozen=True)
class LinearGates(Architecture):
    """An architecture whose parameters enter through pre-activations a = W_ih x + W_hh h + b_h.

    It has structured derivatives: `pull` maps a cotangent on the new state to one on the
    pre-activations, and the parameters' gradient is the outer product of that with (x, h, 1).
    Learners use them instead of automatic differentiation of `step`.

    units_independent: Whether `activate` computes each unit from its own pre-activations and state
        alone, so that units interact through W_hh only. A wrong True gives wrong gradients; a test
        checks every architecture that declares True.
    unit_pattern: Where units are independent and the state has several blocks of `hidden` numbers:
        which blocks of the pre-activations, and which of the previous state by other ways than
        these, each block depends on; 1 where it does.
    """

    units_independent: ClassVar[bool] = False
    unit_pattern: ClassVar[tuple[Rows, Rows] | None] = None

    @property
    @abstractmethod
    def preactivation_size(self) -> int:
        """Number of pre-activations of a step (rows of W_ih, W_hh and b_h)."""

    @abstractmethod
    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """(next state, cache for `pull`, flat) from pre-activations (gates,) and previous state."""

    @abstractmethod
    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        """A cotangent on the next state (..., state_size) pulled back through `activate`.

        To the pre-activations (..., gates), and to the previous state (..., state_size) by other
        ways than these, zeros where there are none.
        """

    def unit_jacobian(self, cache: Tensor) -> tuple[Tensor, Tensor]:
        """The next state's derivatives, by unit, where units are independent.

        By the pre-activations (blocks, gates) and by the previous state (blocks, state_size); the
        state and the gates are blocks of `hidden` numbers, of which number u is unit u's.
        """
        blocks = torch.eye(self.state_size // self.hidden, dtype=cache.dtype, device=cache.device)
        return self.pull(cache, blocks.repeat_interleave(self.hidden, 1))

    def pattern(self) -> Pattern | None:
        unit_pattern = self.unit_pattern
        if unit_pattern is None and self.state_size == self.hidden:
            unit_pattern = ((1,) * (self.preactivation_size // self.hidden),), ((1,),)
        if unit_pattern is None or not self.units_independent:
            return None
        identity = torch.eye(self.hidden, dtype=torch.int64)
        on_gates, by_state = (
            torch.kron(torch.tensor(rows), identity).bool() for rows in unit_pattern
        )
        by_state[:, : self.hidden] |= on_gates.any(1, keepdim=True)  # W_hh has every number of h
        weights = on_gates[:, :, None]
        return Pattern(by_state, {"W_ih": weights, "W_hh": weights, "b_h": on_gates})

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        gates = self.preactivation_size
        return {"W_ih": (gates, self.n_in), "W_hh": (gates, self.hidden), "b_h": (gates,)}

    def by_parameter(self, gradient: Tensor) -> Parameters:
        """A gradient (..., gates, n_in + hidden + 1), by (x, h, 1), as that of each parameter."""
        W_ih, W_hh = gradient[..., : self.n_in], gradient[..., self.n_in : -1]
        return {"W_ih": W_ih, "W_hh": W_hh, "b_h": gradient[..., -1]}

    def preactivation(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        """a = W_ih x + W_hh h + b_h (gates,)."""
        recurrent = matvec(params["W_hh"], state[: self.hidden])
        return matvec(params["W_ih"], x) + recurrent + params["b_h"]

    def step_with_cache(
        self, params: Parameters, state: Tensor, x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """`step`, with the cache that `pull` needs."""
        return self.activate(self.preactivation(params, state, x), state)

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return self.step_with_cache(params, state, x)[0]
