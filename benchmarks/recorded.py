"""Loops that run uncompiled: as they are written, under vmap, and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks import measure
from benchmarks.engine import engine
from benchmarks.problem import Problem
from orla.programs import compiling, traced_loops

LEARNERS = (("immediate", "adam"), ("tbptt-200-200", "adam"), ("rtrl", "sgd"))
STEPS = 400


def recorded(repeats: int) -> None:
    """Measure learners, networks and numbers of models; print, and keep the csv."""
    compiling.configure(compile=False)
    rows = []
    for learner, optimizer in LEARNERS:
        for name in ("rnn", "lstm"):
            for models in (1, 10, 30):
                parts = Problem(name, 16, STEPS), models, learner, optimizer
                ways = _as_written(engine(*parts)), engine(*parts)
                first, second = (run() for run in ways)  # the second is traced from now on
                same = all(np.array_equal(first[key], second[key]) for key in first)
                seconds, load = measure.best_cpu_seconds(ways, repeats)
                written, fast = (1e6 * one / STEPS for one in seconds)
                row = {"learner": learner, "architecture": name, "models": models}
                row |= {"us_a_step_as_written": written, "us_a_step_recorded": fast}
                row |= {"ratio": fast / written, "same_bits": same, "load_average": max(load)}
                rows.append(row)
                print(pd.DataFrame([row]).to_string(index=False, header=len(rows) == 1), flush=True)
                measure.keep(pd.DataFrame(rows), "recorded")


def _as_written(run: Callable[[], Any]) -> Callable[[], Any]:
    """The run with no step that is traced."""

    def go() -> Any:
        with mock.patch.object(traced_loops, "STEPS_AS_WRITTEN", np.inf):
            return run()

    return go
