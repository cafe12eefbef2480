"""Networks of tanh units: Elman's, leaky ones, and other forms of the recurrent matrix."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Architecture, LinearGates, Parameters, Pattern, matvec
from orla.catalogue import option
from orla.errors import OrlaError


@dataclass(frozen=True)
class RNN(LinearGates, name="rnn", label="RNN", order=10):
    """Elman's network (1990) with tanh units; 6,850 parameters at 64 units, 40 inputs."""

    units_independent: ClassVar[bool] = True

    @property
    def preactivation_size(self) -> int:
        return self.hidden

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(preactivation)
        return h, 1.0 - h * h

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        return cache * cotangent, torch.zeros_like(cotangent)


@dataclass(frozen=True)
class CTRNN(RNN, name="ctrnn", label="CTRNN", order=15):
    """CTRNN (Funahashi and Nakamura 1993), in its form for rates, by steps of Euler's method.

    tau dh/dt = -h + tanh(W_ih x + W_hh h + b_h) in steps of length dt gives
    h_t = (1 - a) h_{t-1} + a tanh(W_ih x_t + W_hh h_{t-1} + b_h) with a = dt/tau; a = 1 is the
    vanilla RNN. (Funahashi and Nakamura have W_hh outside of the nonlinearity; Miller and Fumarola
    2012 show both forms equivalent.) All units share one time constant, which is not learned.
    """

    dt_over_tau: float = option(
        0.5, "a = dt/tau, a step's length over the time constant.", above=0, most=1
    )

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        target = torch.tanh(preactivation)
        h = (1.0 - self.dt_over_tau) * state + self.dt_over_tau * target
        return h, self.dt_over_tau * (1.0 - target * target)

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        return cache * cotangent, (1.0 - self.dt_over_tau) * cotangent


def random_orthogonal_matrix(size: int, generator: torch.Generator) -> Tensor:
    """A random orthogonal matrix (size, size), float64, uniform over all (Mezzadri 2007)."""
    normal = torch.randn(size, size, generator=generator, dtype=torch.float64)
    q, r = torch.linalg.qr(normal)
    return q * torch.where(r.diagonal() < 0, -1.0, 1.0)


def power_law_singular_values(size: int, condition: float, largest: float) -> Tensor:
    """Singular values s_k = s_1 k^(-p) (size,), float64, with s_1 / s_size = condition.

    largest: s_1; 0 for the one with which the sum of squares is size / 3, the mean of that of a
        matrix (size, size) that is uniform in +-1/sqrt(size).
    """
    p = math.log(condition) / math.log(size) if size > 1 else 0.0
    values = torch.arange(1, size + 1, dtype=torch.float64) ** -p
    scale = largest or math.sqrt(size / 3.0) / float(values.square().sum().sqrt())
    return scale * values


@dataclass(frozen=True)
class _InitialSpectrum(Architecture):
    """Of networks whose W_hh begins as U diag(s) V^T."""

    condition: float = option(50.0, "cond(W_hh) in the beginning.", least=1)
    largest: float = option(
        0.0,
        "s_1 in the beginning, the spectral norm of W_hh; 0: that with the Frobenius norm of rnn.",
        least=0,
    )

    def draw_factors(self, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """U, s and V in the beginning, float64."""
        U, V = (random_orthogonal_matrix(self.hidden, generator) for _ in range(2))
        return U, power_law_singular_values(self.hidden, self.condition, self.largest), V


@dataclass(frozen=True)
class SpectralRNN(
    _InitialSpectrum, RNN, name="spectral_rnn", label="RNN, cond(W_hh) {condition:g}", order=11
):
    """The vanilla RNN; W_hh begins as U diag(s) V^T with cond(W_hh) = `condition`.

    The paper's "spectral-decay initialization, free training" and condition-number sweep: the
    singular values follow a power law, s_k = s_1 k^(-p), U and V are random orthogonal matrices.
    All of W_hh is learned from there on, so that it is an RNN in all but how it begins. The other
    parameters are those that an RNN of the same seed begins with. W_hh has the Frobenius norm that
    an RNN's has on average, unless `largest` gives its spectral norm.
    """

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; then U and V are drawn, which make W_hh."""
        params = super().init(generator, dtype)
        U, s, V = self.draw_factors(generator)
        return params | {"W_hh": ((U * s) @ V.T).to(dtype)}


@dataclass(frozen=True)
class SingularRNN(
    _InitialSpectrum,
    name="singular_rnn",
    label="RNN, singular values learned, cond(W_hh) {condition:g}",
    order=11.5,
):
    """h_t = tanh(W_ih x_t + U diag(s) V^T h_{t-1} + b_h): s is learned, the bases U and V are not.

    The paper's "orthogonal-basis constraint" (appendix on isotropy as a training equilibrium). A
    seed begins with the W_hh = U diag(s) V^T that it has as a spectral RNN of the same `condition`
    and `largest`. A learned s_hh may change its sign.

    U_hh and V_hh (hidden, hidden) stand among the parameters, so that each network has its own and
    they are saved with it. `step` detaches them: their derivative is 0 in every learner, and the
    update that an optimizer makes of a gradient of 0 is 0, so they keep their bits. Exact RTRL
    carries their zeros along, three times the sensitivities of an RNN.
    """

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n = self.hidden
        bases = {"U_hh": (n, n), "V_hh": (n, n)}
        return {"W_ih": (n, self.n_in), **bases, "s_hh": (n,), "b_h": (n,)}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As a spectral RNN of the same seed, whose W_hh is U diag(s) V^T."""
        params = RNN(self.hidden, self.n_in, self.n_out).init(generator, dtype)
        factors = zip(("U_hh", "s_hh", "V_hh"), self.draw_factors(generator), strict=True)
        params |= {name: factor.to(dtype) for name, factor in factors}
        return {name: params[name] for name in self.shapes()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        U, V = params["U_hh"].detach(), params["V_hh"].detach()
        recurrent = matvec(U, params["s_hh"] * matvec(V.T, state))
        return torch.tanh(matvec(params["W_ih"], x) + recurrent + params["b_h"])

    def pattern(self) -> Pattern:
        identity = torch.eye(self.hidden, dtype=torch.bool)
        every = torch.ones_like(identity)
        rows, none = identity[:, :, None], torch.zeros(1, 1, 1, dtype=torch.bool)
        bases = {"U_hh": none, "V_hh": none}
        return Pattern(every, {"W_ih": rows, **bases, "s_hh": every, "b_h": identity})


@dataclass(frozen=True)
class LowRankRNN(Architecture, name="low_rank_rnn", label="RNN of rank {rank}", order=12):
    """h_t = tanh(W_ih x_t + U V^T h_{t-1} + b_h) with U_hh and V_hh (hidden, rank) learned.

    The paper's "low-rank W_hh" (appendix on isotropy as a training equilibrium), of rank 8, 16 and
    32 at 64 units; in form the networks of Mastrogiuseppe and Ostojic (2018) without their random
    part.

    U and V begin uniform in +-(3 / (hidden rank))^(1/4). The numbers of U V^T then have the
    variance 1 / (3 hidden) of the vanilla RNN's W_hh, and its eigenvalues the same radius.

    It is no `LinearGates`: the gradient of U and V is no outer product with (x, h, 1).
    """

    rank: int = option(8, "Columns of U and V, the largest rank of W_hh.", least=1)

    def __post_init__(self) -> None:
        if self.rank > self.hidden:
            raise OrlaError(
                f'architecture {self.part.name}: "rank" is {self.rank} and W_hh has {self.hidden}'
                ' rows; give at most "hidden"'
            )

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, factors = self.hidden, dict.fromkeys(("U_hh", "V_hh"), (self.hidden, self.rank))
        return {"W_ih": (n, self.n_in), **factors, "b_h": (n,)}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; U and V in a range of their own."""
        # Drawn within 1/sqrt(hidden).
        wider = self.hidden**0.5 * (3.0 / (self.hidden * self.rank)) ** 0.25
        params = super().init(generator, torch.float64)
        params |= {name: wider * params[name] for name in ("U_hh", "V_hh")}
        return {name: p.to(dtype) for name, p in params.items()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        within = matvec(params["V_hh"].T, state)  # (rank,)
        recurrent = matvec(params["U_hh"], within)
        return torch.tanh(matvec(params["W_ih"], x) + recurrent + params["b_h"])

    def pattern(self) -> Pattern:
        identity = torch.eye(self.hidden, dtype=torch.bool)
        every = torch.ones_like(identity)
        rows = identity[:, :, None]
        # V^T h is in reach of every unit.
        return Pattern(
            every, {"W_ih": rows, "U_hh": rows, "V_hh": every[:, :, None], "b_h": identity}
        )
