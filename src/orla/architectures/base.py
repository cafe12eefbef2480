"""What a recurrent network is here: pure functions of one model's parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.catalogue import Part, option

Parameters = dict[str, Tensor]


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix @ vector, (rows, columns) x (columns,) -> (rows,).

    Written as a sum so that the compiler fuses it into its neighbours and so that its rounding
    cannot depend on how many models share a batch, as a BLAS call's may.
    """
    return (matrix * vector).sum(-1)


def rows_along_memory(params: Parameters) -> Parameters:
    """The same parameters (models, ...), each matrix with its rows' axis innermost in memory.

    `matvec` then fills whole vector registers with rows; with the columns innermost it would have
    to add up the numbers within one register, which costs several times as much in float64.
    """
    return {
        name: p.transpose(-1, -2).contiguous().transpose(-1, -2) if p.dim() == 3 else p
        for name, p in params.items()
    }


@dataclass(frozen=True)
class Architecture(Part, ABC):
    """A recurrent network with `hidden` units, `n_in` inputs and `n_out` linear outputs.

    The state is one flat vector of `state_size` numbers, whose first `hidden` ones the readout
    sees. The methods speak of one model; the batch of models is added outside by torch.func.vmap.
    """

    kind: ClassVar[str] = "architecture"

    hidden: int = option(64, "Hidden units.", least=1)
    n_in: int = 1
    n_out: int = 1

    @property
    @abstractmethod
    def state_size(self) -> int:
        """Length of the flat state vector."""

    @abstractmethod
    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter that the state depends on."""

    @abstractmethod
    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        """Next state (state_size,) from the state (state_size,) and the input x (n_in,)."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter, the readout's W_out and b_out last."""
        readout = {"W_out": (self.n_out, self.hidden), "b_out": (self.n_out,)}
        return {**self.recurrent_shapes(), **readout}

    def parameter_count(self) -> int:
        """How many numbers a model learns."""
        return sum(math.prod(shape) for shape in self.shapes().values())

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """Fresh parameters: weights and biases uniform in +-1/sqrt(hidden), as torch.nn.RNN.

        Drawn in float64 whatever `dtype`, so that a seed names the same network in each precision.
        """
        bound = 1.0 / math.sqrt(self.hidden)
        return {
            name: (
                (2.0 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1.0) * bound
            ).to(dtype)
            for name, shape in self.shapes().items()
        }

    def initial_state(self, params: Parameters) -> Tensor:
        """State before the first step: zeros (state_size,)."""
        return params["W_out"].new_zeros(self.state_size)

    def readout(self, params: Parameters, state: Tensor) -> Tensor:
        """Output (n_out,) = W_out h + b_out, h being the first `hidden` entries of the state."""
        return matvec(params["W_out"], state[: self.hidden]) + params["b_out"]


@dataclass(frozen=True)
class LinearGates(Architecture):
    """An architecture whose parameters enter through pre-activations a = W_ih x + W_hh h + b_h.

    It offers structured derivatives: a cotangent on the new state is pulled back to one on the
    pre-activations (`pull`), and the parameters' gradient is its outer product with (h, x, 1).
    Learners use these where they exist and automatic differentiation of `step` elsewhere.

    units_independent: Whether `activate` treats each unit by itself, so that units meet in W_hh
        alone. Exact RTRL is several times faster then. A wrong yes gives wrong gradients; a test
        tries every architecture of the catalogue that says yes.
    """

    units_independent: ClassVar[bool] = False

    @property
    @abstractmethod
    def gates(self) -> int:
        """How many pre-activations a step computes (rows of W_ih, W_hh and b_h)."""

    @abstractmethod
    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """(next state, cache) from pre-activations (gates,) and the state before (state_size,).

        The cache is a flat vector with all that `pull` needs.
        """

    @abstractmethod
    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        """Pull a cotangent on the next state back through `activate`.

        Takes cache (cache_size,) and cotangent (..., state_size); returns the cotangent on the
        pre-activations (..., gates), and the one on the previous state that does not pass through
        the pre-activations (..., state_size), zeros where there is no such path.
        """

    @property
    @abstractmethod
    def cache_size(self) -> int:
        """Length of the cache of `activate`."""

    def unit_jacobian(self, cache: Tensor) -> tuple[Tensor, Tensor]:
        """What `pull` multiplies by, of an `activate` that treats each unit by itself.

        From a cache (cache_size,) to derivatives of the next state's blocks of `hidden` numbers by
        the pre-activations (blocks, gates) and by the previous state (blocks, state_size): a
        block's number u by number u of another block, all else being zero.
        """
        blocks = torch.eye(self.state_size // self.hidden, dtype=cache.dtype, device=cache.device)
        return self.pull(cache, blocks.repeat_interleave(self.hidden, 1))

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            "W_ih": (self.gates, self.n_in),
            "W_hh": (self.gates, self.hidden),
            "b_h": (self.gates,),
        }

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
