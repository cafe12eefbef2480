"""The plain loops: PyTorch autograd, one model at a time, as a textbook has them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.problem import Problem, Weights

Leaves = dict[str, Tensor]
Readout = Callable[[Leaves, Tensor], Tensor]


def rnn_step(p: Leaves, h: Tensor, x: Tensor) -> Tensor:
    """h' = tanh(W_ih x + W_hh h + b_h)."""
    return torch.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])


def lstm_step(p: Leaves, state: Tensor, x: Tensor) -> Tensor:
    """State (h, c), gates i, f, g, o."""
    h, c = state.chunk(2)
    i, f, g, o = (p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"]).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])


STEPS: dict[str, Callable[[Leaves, Tensor, Tensor], Tensor]] = {"rnn": rnn_step, "lstm": lstm_step}


def linear(p: Leaves, state: Tensor) -> Tensor:
    """W_out h + b_out."""
    return p["W_out"] @ state[: p["W_out"].shape[1]] + p["b_out"]


def loss(p: Leaves, state: Tensor, y: Tensor, readout: Readout = linear) -> Tensor:
    """Mean over the outputs of the squared error."""
    error = readout(p, state) - y
    return (error * error).mean()


def adapt(problem: Problem, model: int = 0, window: int = 1) -> Weights:
    """Adam's update once a window, by the gradient of its summed losses through the window.

    A window of 1 is the immediate gradient, 200 is tbptt-200-200. Answers one model's weights. A
    network that is not written out above has its own step and readout, derived by autograd.
    """
    own = problem.architecture
    step, readout = own.step, own.readout
    if problem.name in STEPS:
        step, readout = STEPS[problem.name], linear
    leaves = {n: torch.tensor(w, requires_grad=True) for n, w in problem.weights_of(model).items()}
    adam = torch.optim.Adam(list(leaves.values()), lr=problem.rate)
    X, Y = (torch.as_tensor(a) for a in problem.stream)
    state = X.new_zeros(own.state_size)
    for start in range(0, problem.steps, window):
        state = state.detach()
        total = X.new_zeros(())
        for t in range(start, start + window):
            state = step(leaves, state, X[t])
            total = total + loss(leaves, state, Y[t], readout)
        adam.zero_grad(set_to_none=True)
        total.backward()
        adam.step()
    return {name: leaf.detach().numpy() for name, leaf in leaves.items()}
