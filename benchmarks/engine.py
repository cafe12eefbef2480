"""The engine as a study runs it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.problem import Problem, Weights
from orla.adapt import Adapter
from orla.learners import learner
from orla.optimizers import optimizer


def engine(
    problem: Problem, models: int, learner_name: str, optimizer_name: str
) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights; compiled once."""
    made = learner(learner_name, problem.architecture)
    adapter = Adapter(made, optimizer(optimizer_name), segment=max(200, made.stride))
    params = {name: torch.as_tensor(w) for name, w in problem.weights(models).items()}
    X, Y = (torch.as_tensor(a) for a in problem.stream)
    rates = torch.full((models,), problem.rate, dtype=torch.float64)

    def go() -> Weights:
        result = adapter(params, rates, X, Y)
        return {name: p.numpy() for name, p in result.params.items()}

    return go
