"""Every architecture beside JAX, and every learner beside immediate: cost in batches of 25."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import pandas as pd
import torch

from benchmarks import measure, plain
from benchmarks.engine import engine
from benchmarks.peers import peer
from benchmarks.problem import Problem, Variant, difference
from orla import catalogue
from orla.engine.memory import learner_bytes
from orla.errors import OrlaError

MODELS, STEPS = 25, 400
# A learner that answers seldom is timed over whole windows; exact RTRL takes as many models at a
# time as a study takes.
EXACT, EXACT_MODELS, EXACT_STEPS = "rtrl", 2, 192
NETWORKS = ("rnn", "gru", "lru")


def architectures(repeats: int) -> pd.DataFrame:
    """Immediate with Adam for each architecture of the catalogue, JAX and orla in turn.

    Raises:
        WrongNumbers: A row's final weights are not those of autograd, one model at a time.
    """
    rows, runs = [], []
    for name in _buildable():
        problem = Problem(name, steps=STEPS)
        oracle = cache(partial(plain.adapt, problem))
        for variant in _ways(problem):
            rows.append(
                {
                    "architecture": name,
                    "variant": variant.name,
                    "parameters": problem.architecture.parameter_count(),
                    "difference": difference(variant.run(), oracle),
                }
            )
            runs.append(variant.run)
            print(f"ready: {name}, {variant.name}", flush=True)
    frame = _timed(pd.DataFrame(rows), runs, repeats)
    jax = frame[frame["variant"].str.startswith("JAX")].groupby("architecture")
    best = frame["architecture"].map(jax["us_per_model_and_step"].min())
    frame.insert(2, "of_jax", frame["us_per_model_and_step"] / best)
    return frame


def learners(repeats: int) -> pd.DataFrame:
    """Each learner of the catalogue with plain gradient descent, on networks that it takes."""
    rows, runs = [], []
    for network in NETWORKS:
        for name in catalogue.parts("learner"):
            problem, models = Problem(network, steps=STEPS), MODELS
            if name == EXACT:
                problem, models = Problem(network, steps=EXACT_STEPS), EXACT_MODELS
            try:
                learner = catalogue.make("learner", name, architecture=problem.architecture)
            except OrlaError as error:
                print(f"left out: {name} on {network}: {error}")
                continue
            run = engine(problem, models, name, "sgd")
            run()
            sgd = catalogue.make("optimizer", "sgd")
            rows.append(
                {
                    "architecture": network,
                    "learner": name,
                    "exactness": learner.part.more["exactness"],
                    "models": models,
                    "steps": problem.steps,
                    "carried_bytes": learner_bytes(learner, sgd, torch.float64),
                }
            )
            runs.append(run)
            print(f"ready: {name} on {network}", flush=True)
    for row, run in _peers():
        rows.append(row)
        runs.append(run)
    frame = _timed(pd.DataFrame(rows), runs, repeats)
    plainest = frame[frame["learner"] == "immediate"].set_index("architecture")
    of = frame["architecture"].map(plainest["us_per_model_and_step"])
    frame.insert(2, "of_immediate", frame["us_per_model_and_step"] / of)
    return frame


def family(repeats: int) -> None:
    """Measure, print and keep both tables."""
    for name, measured in (("architectures", architectures), ("learners", learners)):
        frame = measured(repeats)
        print(frame.to_string(index=False, float_format=lambda value: f"{value:.3g}"), "\n")
        measure.keep(frame, name)


def _buildable() -> Iterator[str]:
    """Architectures that need no option but their size."""
    for name in catalogue.parts("architecture"):
        try:
            _ = Problem(name).architecture
        except OrlaError as error:
            print(f"left out: {name}: {error}")
        else:
            yield name


def _peers() -> Iterator[tuple[dict[str, Any], Callable]]:
    """Rows and runs of braintrace's learners, on the vanilla RNN."""
    braintrace = peer("in_braintrace", "braintrace")
    for name in braintrace.LEARNERS if braintrace else ():
        exact = "exact" in name
        problem = Problem("rnn", steps=EXACT_STEPS if exact else STEPS)
        run = braintrace.learner(problem, name)
        run()
        row = {"architecture": "rnn", "learner": name, "models": 1, "steps": problem.steps}
        print(f"ready: {name}", flush=True)
        yield row, run


def _ways(problem: Problem) -> Iterator[Variant]:
    jax = peer("in_jax", "jax")
    for way in jax.WAYS if jax and problem.name in jax.CELLS else ():
        yield Variant(f"JAX {way}", MODELS, jax.immediate(problem, MODELS, way))
    yield Variant("orla", MODELS, engine(problem, MODELS, "immediate", "adam"))


def _timed(frame: pd.DataFrame, runs: list, repeats: int) -> pd.DataFrame:
    best, load = measure.best_cpu_seconds(runs, repeats)
    steps, models = frame.get("steps", STEPS), frame.get("models", MODELS)
    cost = pd.Series(best, index=frame.index) * 1e6 / steps / models
    frame.insert(2, "us_per_model_and_step", cost)
    return frame.assign(repeats=repeats, load_average_most=max(load))
