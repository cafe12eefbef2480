"""Linear recurrent unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters, matvec
from orla.architectures.elementwise import Complex, ElementWise, exponential
from orla.catalogue import option
from orla.errors import OrlaError


@dataclass(frozen=True)
class LRU(ElementWise, name="lru", label="LRU", order=44):
    """LRU (Orvieto et al. 2023, section 3), `hidden` complex numbers and as many outputs.

    h_t = lambda h_{t-1} + exp(gamma) B x_t with lambda = exp(-exp(nu) + i exp(theta)), and
    y = Re(C h) + D x. GELU, a gated linear unit that mixes the outputs, and the linear readout
    follow. |lambda| starts uniform on the ring from `r_min` to `r_max`, exp(gamma) as
    sqrt(1 - |lambda|^2); both are learned from there on.

    Left out are normalisation and the residual connection of an LRU block.
    """

    r_min: float = option(0.0, "Smallest initial |lambda|.", least=0, most=1)
    r_max: float = option(1.0, "Largest initial |lambda|.", above=0, most=1)
    max_phase: float = option(2 * math.pi, "Largest initial angle of lambda.", above=0)

    def __post_init__(self) -> None:
        if self.r_min >= self.r_max:
            raise OrlaError(
                f'architecture {self.part.name}: "r_min" is {self.r_min} and "r_max"'
                f" {self.r_max}; give a ring, r_min below r_max"
            )

    @property
    def now_size(self) -> int:
        return self.n_in

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        of_units = dict.fromkeys(("nu", "theta", "gamma"), (self.hidden,))
        return {**of_units, **dict.fromkeys(("B_re", "B_im"), (self.hidden, self.n_in))}

    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        C = dict.fromkeys(("C_re", "C_im"), (self.hidden, self.hidden))
        return {**C, "D": (self.hidden, self.n_in), **super().readout_shapes()}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; lambda on the ring; B, C and D normal as in the paper's appendix A."""

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        n, params = self.hidden, super().init(generator, dtype)
        area, phase = torch.rand(2, n, generator=generator, dtype=torch.float64)
        square_modulus = self.r_min**2 + area * (self.r_max**2 - self.r_min**2)
        initial = {
            "nu": torch.log(-0.5 * torch.log(square_modulus)),
            "theta": torch.log(self.max_phase * phase),
            "gamma": 0.5 * torch.log1p(-square_modulus),
            "B_re": normal(n, self.n_in) / math.sqrt(2 * self.n_in),
            "B_im": normal(n, self.n_in) / math.sqrt(2 * self.n_in),
            "C_re": normal(n, n) / math.sqrt(n),
            "C_im": normal(n, n) / math.sqrt(n),
            "D": normal(n, self.n_in) / math.sqrt(self.n_in),
        }
        return params | {name: p.to(dtype) for name, p in initial.items()}

    def decay(self, params: Parameters) -> Complex:
        return exponential((-torch.exp(params["nu"]), torch.exp(params["theta"])))

    def drive(self, params: Parameters, x: Tensor) -> Complex:
        size = torch.exp(params["gamma"])
        return size * matvec(params["B_re"], x), size * matvec(params["B_im"], x)

    def now(self, params: Parameters, x: Tensor) -> Tensor:
        """x itself, (n_in,)."""
        return x

    def outputs(self, params: Parameters, state: Tensor) -> Tensor:
        (real, imaginary), x = self.parts(state)
        y = matvec(params["C_re"], real) - matvec(params["C_im"], imaginary)
        return y + matvec(params["D"], x)
