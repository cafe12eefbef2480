"""Networks that tell learners apart, and the textbook steps of those that have one."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from harness import HIDDEN, N_IN, N_OUT, Adapting, Normalised

from orla.architectures.base import Architecture, LinearGates, Pattern
from orla.architectures.elementwise import ElementWise


@dataclass(frozen=True)
class Leaky(LinearGates):
    """h_t = (1 - a) h_{t-1} + a tanh(u_t), a = `rate`."""

    units_independent: ClassVar[bool] = True
    rate: float = 0.3

    @property
    def state_size(self):
        return self.hidden

    gates = state_size

    def activate(self, preactivation, state):
        phi = torch.tanh(preactivation)
        return (1.0 - self.rate) * state + self.rate * phi, 1.0 - phi * phi

    def pull(self, cache, cotangent):
        return self.rate * cache * cotangent, (1.0 - self.rate) * cotangent


@dataclass(frozen=True)
class Meeting(Normalised):
    """Units that meet before they act, and say so."""

    units_independent: ClassVar[bool] = False


@dataclass(frozen=True)
class Surplus(Adapting):
    """With one more number of state, the mean of the others: no whole blocks of units."""

    @property
    def state_size(self):
        return 2 * self.hidden + 1

    def step(self, params, state, x):
        after = super().step(params, state[:-1], x)
        mean = 0.5 * state[-1:] + 0.5 * after.mean()
        return torch.cat([after[: self.hidden] + 0.3 * state[-1], after[self.hidden :], mean])


@dataclass(frozen=True)
class Ring(Architecture):
    """Units in a ring, each of which hears itself and the one before it: W holds more, unused."""

    @property
    def state_size(self):
        return self.hidden

    @property
    def hears(self):
        itself = torch.eye(self.hidden)
        return itself + itself.roll(1, 0)

    def recurrent_shapes(self):
        return {"W": (self.hidden, self.hidden), "U": (self.hidden, self.n_in)}

    def step(self, params, state, x):
        return torch.tanh((params["W"] * self.hears) @ state + params["U"] @ x)

    def pattern(self):
        own, hears = torch.eye(self.hidden) > 0, self.hears > 0
        return Pattern(hears, {"W": own[:, :, None] & hears, "U": own[:, :, None]})


MODES = 3


@dataclass(frozen=True)
class Modes(ElementWise):
    """Units of three complex numbers each, which one pole of a unit's own scales; read out by GLU.

    The decay of a mode depends on two parameters, and C reads it out without a past.
    """

    @property
    def per_unit(self):
        return MODES

    @property
    def now_size(self):
        return self.hidden

    def recurrent_shapes(self):
        n = self.hidden
        return {"pace": (n,), "pole_re": (n, MODES), "pole_im": (n, MODES), "B": (n, self.n_in)}

    def readout_shapes(self):
        return {"C": (self.hidden, MODES)} | super().readout_shapes()

    def decay(self, params):
        pace = torch.exp(params["pace"])[:, None]
        size = torch.exp(-pace * torch.exp(params["pole_re"])).flatten()
        angle = (pace * params["pole_im"]).flatten()
        return size * torch.cos(angle), size * torch.sin(angle)

    def drive(self, params, x):
        into = (params["B"] * x).sum(-1).repeat_interleave(MODES)
        return into, 0.5 * into * params["pole_re"].flatten()

    def now(self, params, x):
        return torch.tanh((params["B"] * x).sum(-1))

    def outputs(self, params, state):
        (real, imaginary), now = self.parts(state)
        by_unit = (real + imaginary).view(self.hidden, MODES)
        return (params["C"] * by_unit).sum(-1) + now


def modes_step(params, state, x):
    """The same in PyTorch's complex numbers."""
    n = params["pole_re"].numel()
    pole = torch.complex(-torch.exp(params["pole_re"]), params["pole_im"])
    decay = torch.exp(torch.exp(params["pace"])[:, None] * pole)
    into = params["B"] @ x
    drive = into[:, None] * torch.complex(torch.ones_like(pole.real), 0.5 * params["pole_re"])
    h = decay.flatten() * torch.complex(state[:n], state[n : 2 * n]) + drive.flatten()
    return torch.cat([h.real, h.imag, torch.tanh(into)])


def modes_error(params, state, y):
    n = params["pole_re"].numel()
    both = (state[:n] + state[n : 2 * n]).view(-1, MODES)
    y_units = torch.nn.functional.gelu((params["C"] * both).sum(-1) + state[2 * n :])
    a, b = (params["W_glu"] @ y_units + params["b_glu"]).chunk(2)
    outputs = params["W_out"] @ (a * torch.sigmoid(b)) + params["b_out"]
    return ((outputs - y) ** 2).mean()


SURPLUS, RING = (kind(HIDDEN, N_IN, N_OUT) for kind in (Surplus, Ring))
OTHERS = {
    "surplus": (SURPLUS, SURPLUS.step),
    "ring": (RING, RING.step),
    "modes": (Modes(HIDDEN, N_IN, N_OUT), modes_step),
}
