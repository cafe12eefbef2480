"""Cost and memory on a CUDA device, where the loops run eagerly, many models at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import measure
from benchmarks.engine import engine
from benchmarks.problem import Problem, Weights, difference
from orla.engine.loop import loop_of
from orla.engine.memory import bytes_per_model
from orla.losses.squared_error import SquaredError
from orla.programs import compiling

# (learner, optimizer, steps, units): steps hold whole windows, and whole blocks of exact RTRL.
RUNS = (
    ("immediate", "adam", 400, (64, 256, 1024)),
    ("tbptt-200-200", "adam", 400, (64, 256, 1024)),
    ("rtrl", "sgd", 192, (64, 128, 256, 512)),
)
MODELS = (1, 25, 400)
# Bytes of all models' tensors, and of their weights, which are drawn on the CPU: not more is tried.
MOST_BYTES, MOST_WEIGHTS = 30e9, 1e9


def cuda(repeats: int) -> None:
    """Measure every learner, size and number of models; print, and keep the csv."""
    device = str(compiling.configure(device="cuda"))
    rows = []
    for row in cases():
        problem = Problem("rnn", row["hidden"], row["steps"])
        parts = row["models"], row["learner"], row["optimizer"]
        run = engine(problem, *parts, device=device)
        weights = run()
        if (row["hidden"], row["models"]) == (64, MODELS[0]):
            on_cpu = engine(problem, *parts)()
            row["difference"] = difference(weights, lambda i, on=on_cpu: {k: on[k][i] for k in on})
        row |= timed(run, repeats, row["steps"] * row["models"])
        rows.append(row)
        print(
            f"{row['learner']:>14}{row['hidden']:>6}{row['models']:>6}"
            f"{row['us_per_model_and_step'] * row['models']:>12.0f} us a step"
            f"{row['us_per_model_and_step']:>12.2f} us a model and step"
            f"{row['measured_mb']:>10.0f} MB, of it {row['tensors_mb']:.0f} of the models",
            flush=True,
        )
        measure.keep(pd.DataFrame(rows), "cuda")


def cases() -> Iterator[dict[str, Any]]:
    """What is timed; `tensors_mb` is what the models' tensors take, as the engine counts them."""
    for learner, optimizer, steps, sizes in RUNS:
        for hidden in sizes:
            job = {"network": {"kind": "rnn", "hidden": hidden}, "learner": learner}
            loop = loop_of(job | {"optimizer": optimizer}, 40, 2, SquaredError(), 200)
            one = bytes_per_model(loop, torch.float64)
            for models in MODELS:
                total = models * (sum(one.values()) - one["stepped"])
                if total <= MOST_BYTES and models * one["params"] <= MOST_WEIGHTS:
                    yield {
                        "learner": learner,
                        "optimizer": optimizer,
                        "hidden": hidden,
                        "models": models,
                        "steps": steps,
                        "tensors_mb": total / 1e6,
                    }


def timed(run: Callable[[], Weights], repeats: int, model_steps: int) -> dict[str, float]:
    """Least wall time of `repeats` runs, weights copied back, and peak memory of the device."""
    best = np.inf
    torch.cuda.reset_peak_memory_stats()
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return {
        "us_per_model_and_step": best * 1e6 / model_steps,
        "measured_mb": torch.cuda.max_memory_allocated() / 1e6,
    }
