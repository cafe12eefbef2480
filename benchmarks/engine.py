"""The engine as a study runs it: it also measures each update."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.problem import Problem, Weights
from orla.engine.loop import Adapter
from orla.learners import learner
from orla.optimizers import optimizer
from orla.probes import update_ratio


def engine(
    problem: Problem, models: int, learner_name: str, optimizer_name: str, batch: int | None = None
) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights; compiled once.

    `batch` models at a time, which divides `models`; all of them by default.
    """
    made = learner(learner_name, problem.architecture)
    adapter = Adapter(
        made, optimizer(optimizer_name), probes=[update_ratio], segment=max(200, made.stride)
    )
    params = {name: torch.as_tensor(w) for name, w in problem.weights(models).items()}
    batch = batch or models
    parts = [
        {name: p[start : start + batch] for name, p in params.items()}
        for start in range(0, models, batch)
    ]
    X, Y = (torch.as_tensor(a) for a in problem.stream)
    rates = torch.full((batch,), problem.rate, dtype=torch.float64)

    def go() -> Weights:
        results = [adapter(part, rates, X, Y).params for part in parts]
        return {name: torch.cat([r[name] for r in results]).numpy() for name in params}

    return go
