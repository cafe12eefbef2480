"""The base class of networks whose recurrence is element-wise: h_t = lambda h_{t-1} + u_t."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec

# Real and imaginary parts of complex numbers, of one shape. The compiler takes no complex tensors.
Complex = tuple[Tensor, Tensor]


def product(a: Complex, b: Complex) -> Complex:
    """a b, number by number."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def quotient(a: Complex, b: Complex) -> Complex:
    """a / b, number by number."""
    square = b[0] * b[0] + b[1] * b[1]
    real, imaginary = product(a, (b[0], -b[1]))
    return real / square, imaginary / square


def exponential(a: Complex) -> Complex:
    """exp(a), number by number."""
    size = torch.exp(a[0])
    return size * torch.cos(a[1]), size * torch.sin(a[1])


@dataclass(frozen=True)
class ElementWise(Architecture):
    """n complex numbers, each with a recurrence of its own: h_t = lambda h_{t-1} + u(x_t).

    A unit has c = `complex_per_unit` of them, so n = hidden c; number k belongs to unit k // c.
    The state is (real parts of h, imaginary parts of h, `feedthrough_input`), the last being
    numbers that depend on the present input alone, for the readout.

    Learners take for granted that lambda depends on parameters alone and nothing on the previous
    feedthrough; and that each recurrent parameter has `hidden` rows, of which row u enters lambda
    and u(x) of unit u's numbers alone. RTRL that keeps these, e_t = lambda e_{t-1} + D_t, is then
    exact (Zucchet et al. 2023). A test checks it for every architecture of this kind.
    """

    # Complex numbers a unit, and the length of `feedthrough_input`.
    complex_per_unit: ClassVar[int] = 1
    feedthrough_size: ClassVar[int] = 0

    @property
    def complex_count(self) -> int:
        """n, complex numbers of all units."""
        return self.hidden * self.complex_per_unit

    @property
    def state_size(self) -> int:
        return 2 * self.complex_count + self.feedthrough_size

    @abstractmethod
    def decay(self, params: Parameters) -> Complex:
        """lambda, (n,) and (n,)."""

    @abstractmethod
    def drive(self, params: Parameters, x: Tensor) -> Complex:
        """u(x), (n,) and (n,), from the input x (n_in,)."""

    def feedthrough_input(self, params: Parameters, x: Tensor) -> Tensor:
        """What the readout needs of the present input x (n_in,): (feedthrough_size,)."""
        return x[:0]

    def split_state(self, state: Tensor) -> tuple[Complex, Tensor]:
        """h and `feedthrough_input` of a state."""
        real, imaginary, v = state.split([n := self.complex_count, n, self.feedthrough_size])
        return (real, imaginary), v

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        h, _ = self.split_state(state)
        past, u = product(self.decay(params), h), self.drive(params, x)
        return torch.cat([past[0] + u[0], past[1] + u[1], self.feedthrough_input(params, x)])

    @abstractmethod
    def layer_output(self, params: Parameters, state: Tensor) -> Tensor:
        """y (hidden,), linear in the state, by parameters that are none of the recurrence's."""

    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        glu = {"W_glu": (2 * self.hidden, self.hidden), "b_glu": (2 * self.hidden,)}
        return {**glu, **super().readout_shapes()}

    def readout(self, params: Parameters, state: Tensor) -> Tensor:
        """Output (n_out,) = W_out z + b_out, z = a sigmoid(b), (a, b) = W_glu GELU(y) + b_glu."""
        y = torch.nn.functional.gelu(self.layer_output(params, state))
        a, b = (matvec(params["W_glu"], y) + params["b_glu"]).chunk(2)
        return matvec(params["W_out"], a * torch.sigmoid(b)) + params["b_out"]
