"""Networks that tell learners apart."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from harness import HIDDEN, N_IN, N_OUT, Adapting, Normalised

from orla.architectures.base import Architecture, Pattern


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


OTHERS = {
    kind.__name__.lower(): (network, network.step)
    for kind in (Surplus, Ring)
    for network in [kind(HIDDEN, N_IN, N_OUT)]
}
