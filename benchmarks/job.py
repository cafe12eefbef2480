"""One sweep job in a process of its own: its peak memory goes to standard output, in bytes."""

from __future__ import annotations

import json
import sys

from orla import catalogue
from orla.engine.loop import Loop
from orla.engine.state import PRECISIONS
from orla.losses.squared_error import SquaredError
from orla.programs import compiling
from orla.provenance import networks, tables  # noqa: F401  (a job's imports are part of it)
from orla.provenance.cost import peak_bytes
from orla.study.batches import initial_parameters
from orla.study.run import ConditionRun
from orla.study.sweep import sweep
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

N_IN, N_OUT = 40, 2


def study(case: dict, steps: int) -> ConditionRun:
    """A job as a study has it: one seed a model, one batch, two random sessions of `steps` steps.

    Four fifths of the second are adapted to; half of the first is the reference.
    """
    import numpy as np

    generator = np.random.default_rng(0)

    def stream() -> Stream:
        X = generator.standard_normal((steps, N_IN))
        return Stream(X, generator.standard_normal((steps, N_OUT)))

    first, second = stream(), stream()
    window, adapted = min(200, steps // 5), steps * 4 // 5
    given = {"kind": case["architecture"], "hidden": case["hidden"]}
    architecture = catalogue.make("architecture", given, n_in=N_IN, n_out=N_OUT)
    return ConditionRun(
        keys={name: str(case[name]) for name in ("architecture", "learner", "optimizer")}
        | {"precision": case["precision"], "split": "80-20"},
        networks=initial_parameters(
            architecture, range(case["models"]), PRECISIONS[case["precision"]]
        ),
        episode=Episode(
            pretraining=first.slice_steps(slice(0, steps // 2)),
            adapt=second.slice_steps(slice(0, adapted)),
            heldout=second.slice_steps(slice(adapted, steps)),
            selection_cut=adapted * 4 // 5 // window * window,
            reference=first.slice_steps(slice(steps // 2, steps)),
            window=window,
            n_out=N_OUT,
        ),
        loop=Loop(
            catalogue.make("learner", case["learner"], architecture=architecture),
            catalogue.make("optimizer", case["optimizer"]),
            SquaredError(),
            probes=[catalogue.make("probe", "update_ratio")],
            segment=window,
        ),
        batch_models=case["models"],
    )


def main() -> None:
    """Run the case given as JSON and say what it took."""
    case = json.loads(sys.argv[1])
    compiling.configure(threads=1)
    sweep(study(case, case["steps"]), [1e-4], 0)
    print(peak_bytes())


if __name__ == "__main__":
    main()
