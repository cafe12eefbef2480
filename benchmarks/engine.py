"""The engine as a study runs it: it also measures each update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from benchmarks.problem import Problem, Weights
from orla import catalogue
from orla.engine.loop import Loop


@dataclass(frozen=True)
class Case:
    """A row of the engine's tables: `models` models, `batch` at a time (all of them by default)."""

    learner: str
    optimizer: str
    problem: Problem
    models: int
    batch: int | None = None


def cases(learner: str, optimizer: str, name: str, hidden: int = 64) -> Iterator[Case]:
    """The batch sizes that are timed of one learner, optimizer and architecture."""
    small = (name, hidden) == ("rnn", 64)
    if learner == "rtrl":
        problem, sizes = (
            Problem(name, hidden, 960 if small else 192),
            (1, 2, 5) if small else (1, 2),
        )
    else:
        problem, sizes = Problem(name, hidden), (1, 5, 25) if learner == "immediate" else (5, 25)
    for models in sizes:
        yield Case(learner, optimizer, problem, models)
    if learner == "immediate":
        yield Case(learner, optimizer, problem, 25, batch=5)


# What is timed: (learner, optimizer, architecture, hidden), a table each.
TABLES = (
    ("immediate", "adam", "rnn", 64),
    ("immediate", "adam", "lstm", 64),
    ("tbptt-200-200", "adam", "rnn", 64),
    ("tbptt-200-200", "adam", "lstm", 64),
    ("rtrl", "sgd", "rnn", 64),
    ("rtrl", "sgd", "rnn", 128),
    ("rtrl", "sgd", "lstm", 64),
)


def engine(
    problem: Problem,
    models: int,
    learner_name: str,
    optimizer_name: str,
    batch: int | None = None,
    device: str = "cpu",
) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights; compiled once.

    `batch` models at a time, which divides `models`; all of them by default.
    """
    learner = catalogue.make("learner", learner_name, architecture=problem.architecture)
    loop = Loop(
        learner,
        catalogue.make("optimizer", optimizer_name),
        catalogue.make("loss", "squared_error"),
        probes=[catalogue.make("probe", "update_ratio")],
        segment=max(200, learner.stride),
    )
    params = {
        name: torch.as_tensor(w, device=device) for name, w in problem.weights(models).items()
    }
    batch = batch or models
    parts = [
        {name: p[start : start + batch] for name, p in params.items()}
        for start in range(0, models, batch)
    ]
    X, Y = (torch.as_tensor(a, device=device) for a in problem.stream)
    rates = torch.full((batch,), problem.rate, dtype=torch.float64, device=device)

    def go() -> Weights:
        results = [loop.run(loop.start(part), rates, {"x": X, "y": Y}).state for part in parts]
        return {name: torch.cat([r.params[name] for r in results]).cpu().numpy() for name in params}

    return go
