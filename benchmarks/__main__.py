"""python -m benchmarks [what]: measure on this machine, print, keep as csv."""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_threads] = "1"  # before any library reads it

# One core for all: with two, XLA splits a step into pieces that cost more than they save.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

# What exact RTRL is compared with takes the kernels that BLAS itself chooses for this processor.
os.environ.pop("OPENBLAS_CORETYPE", None)

# What is measured, by the function of its name in the module of its name -> the options it takes.
WHAT = {
    "tables": ["repeats"],
    "family": ["repeats"],
    "gradients": [],
    "scaling": ["repeats", "largest"],
    "memory": [],
    "invariance": [],
    "plans": [],
    "versions": ["other", "repeats", "learner"],
    "recorded": ["repeats"],
    "cuda": ["repeats"],
}


def main() -> None:
    """Run what was asked for; without a name, the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", default="tables", choices=WHAT)
    parser.add_argument("other", nargs="?", help="versions: another checkout of this repository")
    parser.add_argument("--learner", help="versions: one learner only")
    parser.add_argument("--repeats", type=int, default=7, help="the best of so many counts")
    parser.add_argument("--largest", type=int, default=1024, help="scaling: most hidden units")
    arguments = parser.parse_args()
    if (arguments.what == "versions") != bool(arguments.other):
        parser.error("versions, and nothing else, takes the folder of another checkout")
    from orla.errors import exit_in_one_line

    if arguments.what not in ("versions", "cuda"):  # which set the threads themselves
        from orla.programs import compiling

        compiling.configure(threads=1)
    arguments.other = arguments.other and Path(arguments.other)
    measure = getattr(importlib.import_module(f"benchmarks.{arguments.what}"), arguments.what)
    with exit_in_one_line():
        measure(*(getattr(arguments, name) for name in WHAT[arguments.what]))


if __name__ == "__main__":
    main()
