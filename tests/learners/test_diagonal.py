"""RTRL of element-wise recurrences against the dense recursion in complex numbers."""

from dataclasses import dataclass

import oracles
import pytest
import torch
from harness import NETWORKS, distance, held_to, initial, networks, stream, watch
from torch.utils import _pytree as pytree

from orla.architectures.elementwise import ElementWise
from orla.errors import OrlaError
from orla.learners.diagonal import Diagonal

STEPS = 24
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


CASES = {
    kind: (network, step, oracles.loss)
    for kind, (network, step) in NETWORKS.items()
    if isinstance(network, ElementWise)
}
CASES["modes"] = Modes(5, 3, 2), modes_step, modes_error


@pytest.mark.parametrize("kind", CASES)
def test_it_is_dense_rtrl_while_weights_move(kind):
    network, step, error = CASES[kind]
    X, Y = stream(STEPS)

    def dense(used, factor=1.0):
        start, jacobian = initial(network), lambda J: factor * J
        return oracles.dense_rtrl(step, start, used, X, Y, error=error, jacobian=jacobian)

    run = watch(Diagonal(network), networks(network), X, Y, rate=0.05)
    ours, used = held_to(dense, run)
    local = oracles.immediate(step, initial(network), used, X, Y, error=error)
    for other in (dense([used[0]] * STEPS), dense(used, 1 - 1e-4), local):
        assert distance(ours, other) > 1e-6


@pytest.mark.parametrize("kind", CASES)
def test_it_starts_anew_with_a_trial(kind):
    network, _, _ = CASES[kind]
    X, Y = stream(STEPS)
    starts = torch.arange(STEPS) == 10
    both, _ = watch(Diagonal(network), networks(network), X, Y, starts=starts).model(0)
    second, _ = watch(Diagonal(network), networks(network), X[10:], Y[10:]).model(0)
    assert distance(both[10:], second) < 1e-12
    on, _ = watch(Diagonal(network), networks(network), X, Y).model(0)
    assert distance(on[10:], second) > 1e-3


@pytest.mark.parametrize("kind", CASES)
def test_what_is_carried_grows_as_the_parameters(kind):
    network, _, _ = CASES[kind]
    learner, params = Diagonal(network), networks(network, models=1)
    numbers = sum(leaf.numel() for leaf in pytree.tree_leaves(learner.init(params)))
    shapes = network.recurrent_shapes().values()
    assert numbers == 2 * network.per_unit * sum(torch.Size(s).numel() for s in shapes)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "another"])
def test_another_recurrence_is_refused(kind):
    with pytest.raises(OrlaError, match=r"diagonal: the recurrence of .* is not element-wise"):
        Diagonal(NETWORKS[kind][0])
