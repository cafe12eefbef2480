"""python -m benchmarks [what]: measure on this machine, print, keep as csv."""

from __future__ import annotations

import argparse
import os

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_threads] = "1"  # before any library reads it

# What exact RTRL is compared with takes the kernels that BLAS itself chooses for this processor.
os.environ.pop("OPENBLAS_CORETYPE", None)


def main() -> None:
    """Run what was asked for; without a name, the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what", nargs="?", default="tables", choices=["tables", "scaling", "memory", "invariance"]
    )
    parser.add_argument("--repeats", type=int, default=7, help="the best of so many counts")
    parser.add_argument("--largest", type=int, default=512, help="scaling: most hidden units")
    arguments = parser.parse_args()
    from orla.programs import compiling

    compiling.configure(threads=1)
    if arguments.what == "tables":
        from benchmarks.tables import tables

        tables(arguments.repeats)
    elif arguments.what == "scaling":
        from benchmarks.scaling import scaling

        scaling(arguments.repeats, arguments.largest)
    elif arguments.what == "memory":
        from benchmarks.memory import memory

        memory()
    else:
        from benchmarks.invariance import invariance

        invariance()


if __name__ == "__main__":
    main()
