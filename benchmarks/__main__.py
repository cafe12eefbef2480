"""python -m benchmarks [what]: measure on this machine, print, keep as csv."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_threads] = "1"  # before any library reads it

# One core for all: with two, XLA splits a step into pieces that cost more than they save.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

# What exact RTRL is compared with takes the kernels that BLAS itself chooses for this processor.
os.environ.pop("OPENBLAS_CORETYPE", None)


def main() -> None:
    """Run what was asked for; without a name, the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="tables",
        choices=[
            "tables",
            "family",
            "gradients",
            "scaling",
            "memory",
            "invariance",
            "plans",
            "versions",
            "recorded",
            "cuda",
        ],
    )
    parser.add_argument("other", nargs="?", help="versions: another checkout of this repository")
    parser.add_argument("--learner", help="versions: one learner only")
    parser.add_argument("--repeats", type=int, default=7, help="the best of so many counts")
    parser.add_argument("--largest", type=int, default=1024, help="scaling: most hidden units")
    arguments = parser.parse_args()
    if (arguments.what == "versions") != bool(arguments.other):
        parser.error("versions, and nothing else, takes the folder of another checkout")
    if arguments.what == "versions":
        from benchmarks.versions import versions
        from orla.errors import exit_in_one_line

        with exit_in_one_line():
            versions(Path(arguments.other), arguments.repeats, arguments.learner)
        return
    if arguments.what == "cuda":
        from benchmarks.cuda import cuda
        from orla.errors import exit_in_one_line

        with exit_in_one_line():
            cuda(arguments.repeats)
        return
    from orla.programs import compiling

    compiling.configure(threads=1)
    if arguments.what == "recorded":
        from benchmarks.recorded import recorded

        recorded(arguments.repeats)
        return
    if arguments.what == "tables":
        from benchmarks.tables import tables

        tables(arguments.repeats)
    elif arguments.what == "family":
        from benchmarks.family import family

        family(arguments.repeats)
    elif arguments.what == "gradients":
        from benchmarks.gradients import gradients
        from orla.errors import exit_in_one_line

        with exit_in_one_line():
            gradients()
    elif arguments.what == "scaling":
        from benchmarks.scaling import scaling

        scaling(arguments.repeats, arguments.largest)
    elif arguments.what == "memory":
        from benchmarks.memory import memory

        memory()
    elif arguments.what == "plans":
        from benchmarks.plans import plans

        plans()
    else:
        from benchmarks.invariance import invariance

        invariance()


if __name__ == "__main__":
    main()
