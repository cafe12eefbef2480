"""One sweep job in a process of its own: its peak memory goes to standard output, in bytes."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from orla import compiling, networks, provenance  # noqa: F401  (a job's imports are part of it)
from orla.architectures import architecture
from orla.provenance.tables import write_table  # noqa: F401
from orla.sessions.parts import parts
from orla.sessions.streams import Stream, Streams
from orla.study.batches import PRECISIONS, initial_parameters
from orla.study.sweep import Study, sweep

N_IN, N_OUT = 40, 2


def study(case: dict, steps: int) -> Study:
    """A job as a study has it: one seed a model, one batch, random sessions of `steps` steps."""
    import numpy as np

    generator = np.random.default_rng(0)

    def stream() -> Stream:
        X = generator.standard_normal((steps, N_IN))
        return Stream(X, generator.standard_normal((steps, N_OUT)))

    cut = min(200, steps // 5)
    made = architecture(case["architecture"], case["hidden"], N_IN, N_OUT)
    return Study(
        architecture=made,
        networks=initial_parameters(made, range(case["models"]), PRECISIONS[case["precision"]]),
        streams=Streams(stream(), stream(), 0.05, {"name": "random", "simulated": True}),
        parts=parts(
            steps, steps, cut=cut, tail_steps=0.5, tail_stream_steps=0.5, splits={"80-20": 0.8}
        ),
        split="80-20",
        learner=case["learner"],
        optimizer=case["optimizer"],
        cut=cut,
        batch_models=case["models"],
    )


def peak_bytes() -> int:
    """Most memory that this process has held; not its parent's, which rusage may remember."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def main() -> None:
    """Run the case given as JSON and say what it took."""
    case = json.loads(sys.argv[1])
    compiling.configure(threads=1)
    sweep(study(case, case["steps"]), [1e-4], 0)
    print(peak_bytes())


if __name__ == "__main__":
    main()
