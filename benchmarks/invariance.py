"""Whether a model's numbers depend on the models beside it, and on how many these are."""

from __future__ import annotations

import pandas as pd

from benchmarks import measure
from benchmarks.engine import engine
from benchmarks.problem import Problem, Weights, distance

STEPS = 10_000  # about the adapt part of a session
SIZES = (1, 2, 5, 25)
CASES = (
    ("rnn", "immediate", "adam"),
    ("lstm", "immediate", "adam"),
    ("rnn", "tbptt-200-200", "adam"),
    ("rnn", "rtrl", "sgd"),
)


def invariance() -> None:
    """Adapt the same model over a full stream in several companies; print and keep differences."""
    rows = []
    print(f"{'place':>10}{'size':>10}  largest difference of final weights, relative")
    for name, learner, optimizer in CASES:
        problem = Problem(name, steps=STEPS)
        alone = {size: engine(problem, size, learner, optimizer)() for size in SIZES}
        swapped = engine(_Swapped(name, steps=STEPS), SIZES[-1], learner, optimizer)()
        first, one = ({k: w[0] for k, w in alone[size].items()} for size in (SIZES[-1], 1))
        rows.append(
            {
                "architecture": name,
                "learner": learner,
                "optimizer": optimizer,
                "steps": STEPS,
                "another_place": distance(swapped, SIZES[-1] - 1, first),
                "another_size": max(distance(alone[s], 0, one) for s in SIZES[1:]),
            }
        )
        row = rows[-1]
        print(
            f"{row['another_place']:>10.1e}{row['another_size']:>10.1e}  "
            f"{name} {learner} {optimizer}",
            flush=True,
        )
        measure.keep(pd.DataFrame(rows), "invariance")


class _Swapped(Problem):
    """The same models in the opposite order."""

    def weights(self, models: int) -> Weights:
        return {name: w[::-1].copy() for name, w in super().weights(models).items()}
