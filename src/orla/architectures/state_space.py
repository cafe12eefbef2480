"""State space models whose recurrence is element-wise: S4D and the linear recurrent unit."""

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters, matvec
from orla.architectures.elementwise import Complex, ElementWise, exponential, product, quotient
from orla.catalogue import option
from orla.errors import OrlaError

ZOH, BILINEAR = "zoh", "bilinear"


@dataclass(frozen=True)
class S4(ElementWise, name="s4", label="S4 (S4D)", order=42):
    """S4D (Gu, Gupta, Goel and Re 2022), one layer: each unit has a state space model of its own.

    Unit u gets the input v = W_in x + b_in and has `modes` complex numbers h' = A h + v, with
    A = -exp(log_A_real) + i A_imag, and B = 1, since only the product of B and C matters. At a step
    dt = exp(log_dt) that is h_t = lambda h_{t-1} + beta v_t with

        zero-order hold: lambda = exp(dt A), beta = (lambda - 1) / A,
        bilinear: lambda = (1 + dt A / 2) / (1 - dt A / 2), beta = dt / (1 - dt A / 2),

    and y = 2 Re(C h) + D v: each number stands for itself and its conjugate. GELU, a gated linear
    unit that mixes the units, and the linear readout follow, as in the authors' code, whose default
    is 32 modes. Initial values are S4D-Lin: A = -1/2 + i pi n.
    """

    modes: int = option(4, "Complex numbers a unit.", least=1)
    discretisation: str = option(
        ZOH, "How a step is made of the continuous model.", choices=[ZOH, BILINEAR]
    )
    dt_min: float = option(0.001, "Smallest initial step of the continuous model.", above=0)
    dt_max: float = option(0.1, "Largest initial step of the continuous model.", above=0)

    def __post_init__(self) -> None:
        if self.dt_min > self.dt_max:
            raise OrlaError(
                f'architecture {self.part.name}: "dt_min" is {self.dt_min}, above "dt_max",'
                f" {self.dt_max}; exchange them"
            )

    @property
    def complex_per_unit(self) -> int:
        return self.modes

    @property
    def feedthrough_size(self) -> int:
        return self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, A = self.hidden, dict.fromkeys(("log_A_real", "A_imag"), (self.hidden, self.modes))
        return {"W_in": (n, self.n_in), "b_in": (n,), "log_dt": (n,), **A}

    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        of_modes = dict.fromkeys(("C_re", "C_im"), (self.hidden, self.modes))
        return {**of_modes, "D": (self.hidden,), **super().readout_shapes()}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; A by S4D-Lin, log_dt uniform, C and D normal of variance 1."""
        normal = functools.partial(torch.randn, generator=generator, dtype=torch.float64)
        params, n = super().init(generator, dtype), self.hidden
        of_modes, number = (n, self.modes), torch.arange(self.modes, dtype=torch.float64)
        span = math.log(self.dt_max) - math.log(self.dt_min)
        share = torch.rand(n, generator=generator, dtype=torch.float64)
        initial = {
            "log_dt": math.log(self.dt_min) + span * share,
            "log_A_real": torch.full(of_modes, math.log(0.5), dtype=torch.float64),
            "A_imag": math.pi * number.repeat(n, 1),
            "C_re": normal(*of_modes) / math.sqrt(2),
            "C_im": normal(*of_modes) / math.sqrt(2),
            "D": normal(n),
        }
        return params | {name: p.to(dtype) for name, p in initial.items()}

    def decay(self, params: Parameters) -> Complex:
        real, imaginary = self._discrete_coefficients(params)[0]
        return real.flatten(), imaginary.flatten()

    def drive(self, params: Parameters, x: Tensor) -> Complex:
        real, imaginary = self._discrete_coefficients(params)[1]
        v = self.feedthrough_input(params, x)[:, None]
        return (real * v).flatten(), (imaginary * v).flatten()

    def feedthrough_input(self, params: Parameters, x: Tensor) -> Tensor:
        """v = W_in x + b_in (hidden,)."""
        return matvec(params["W_in"], x) + params["b_in"]

    def _discrete_coefficients(self, params: Parameters) -> tuple[Complex, Complex]:
        """lambda and beta, each (hidden, modes)."""
        dt = torch.exp(params["log_dt"])[:, None]
        A = -torch.exp(params["log_A_real"]), params["A_imag"]
        if self.discretisation == ZOH:
            decay = exponential((dt * A[0], dt * A[1]))
            return decay, quotient((decay[0] - 1.0, decay[1]), A)
        half = 0.5 * dt * A[0], 0.5 * dt * A[1]
        unity = torch.ones_like(half[0]), torch.zeros_like(half[1])
        inverse = quotient(unity, (1.0 - half[0], -half[1]))
        return product((1.0 + half[0], half[1]), inverse), (dt * inverse[0], dt * inverse[1])

    def layer_output(self, params: Parameters, state: Tensor) -> Tensor:
        h, v = self.split_state(state)
        real, imaginary = (part.view(self.hidden, self.modes) for part in h)
        y = 2.0 * (params["C_re"] * real - params["C_im"] * imaginary).sum(-1)
        return y + params["D"] * v


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
    def feedthrough_size(self) -> int:
        return self.n_in

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        of_units = dict.fromkeys(("nu", "theta", "gamma"), (self.hidden,))
        return {**of_units, **dict.fromkeys(("B_re", "B_im"), (self.hidden, self.n_in))}

    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        C = dict.fromkeys(("C_re", "C_im"), (self.hidden, self.hidden))
        return {**C, "D": (self.hidden, self.n_in), **super().readout_shapes()}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; lambda on the ring; B, C and D normal as in the paper's appendix A."""
        normal = functools.partial(torch.randn, generator=generator, dtype=torch.float64)
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

    def feedthrough_input(self, params: Parameters, x: Tensor) -> Tensor:
        """x itself, (n_in,)."""
        return x

    def layer_output(self, params: Parameters, state: Tensor) -> Tensor:
        (real, imaginary), x = self.split_state(state)
        y = matvec(params["C_re"], real) - matvec(params["C_im"], imaginary)
        return y + matvec(params["D"], x)
