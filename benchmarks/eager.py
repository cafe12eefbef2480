"""Batches of models in eager PyTorch: gradients by hand, and by vmap(grad)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import grad, vmap

from benchmarks import plain
from benchmarks.problem import Problem, Weights


class Adam:
    """Adam's arithmetic over dicts of tensors, one library call an operation."""

    def __init__(self, params: dict[str, Tensor], rate: float) -> None:
        self.rate, self.steps = rate, 0
        self.m = {n: torch.zeros_like(p) for n, p in params.items()}
        self.v = {n: torch.zeros_like(p) for n, p in params.items()}

    def update(self, params: dict[str, Tensor], gradients: dict[str, Tensor]) -> None:
        """Move `params` in place."""
        self.steps += 1
        step = self.rate / (1.0 - 0.9**self.steps)
        root = (1.0 - 0.999**self.steps) ** 0.5
        for name, g in gradients.items():
            self.m[name].lerp_(g, 0.1)
            self.v[name].mul_(0.999).addcmul_(g, g, value=0.001)
            denominator = self.v[name].sqrt().div_(root).add_(1e-8)
            params[name].addcdiv_(self.m[name], denominator, value=-step)


def _start(problem: Problem, models: int) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    params = {n: torch.tensor(w) for n, w in problem.weights(models).items()}
    X, Y = (torch.as_tensor(a) for a in problem.stream)
    return params, X.new_zeros(models, problem.architecture.state_size), X, Y


@torch.no_grad()
def analytic(problem: Problem, models: int) -> Weights:
    """Immediate gradient of the vanilla RNN by hand, batched matrix products."""
    p, h, X, Y = _start(problem, models)
    adam = Adam(p, problem.rate)
    for x, y in zip(X, Y, strict=True):
        recurrent = torch.bmm(p["W_hh"], h[:, :, None])[:, :, 0]
        after = torch.tanh(p["W_ih"] @ x + recurrent + p["b_h"])
        error = torch.bmm(p["W_out"], after[:, :, None])[:, :, 0] + p["b_out"] - y
        error = error * (2.0 / problem.n_out)
        on_h = torch.bmm(error[:, None], p["W_out"])[:, 0]
        delta = on_h * (1.0 - after * after)
        gradients = {
            "W_ih": delta[:, :, None] * x,
            "W_hh": delta[:, :, None] * h[:, None],
            "b_h": delta,
            "W_out": error[:, :, None] * after[:, None],
            "b_out": error,
        }
        adam.update(p, gradients)
        h = after
    return {name: w.numpy() for name, w in p.items()}


@torch.no_grad()
def vmap_grad(problem: Problem, models: int) -> Weights:
    """Immediate gradient of any architecture by vmap(grad)."""
    p, state, X, Y = _start(problem, models)
    adam, step = Adam(p, problem.rate), plain.STEPS[problem.name]

    def loss(p: dict[str, Tensor], state: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        after = step(p, state, x)
        return plain.loss(p, after, y), after

    gradient = vmap(grad(loss, has_aux=True), in_dims=(0, 0, None, None))
    for x, y in zip(X, Y, strict=True):
        gradients, state = gradient(p, state, x, y)
        adam.update(p, gradients)
    return {name: w.numpy() for name, w in p.items()}
