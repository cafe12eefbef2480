"""The engine of the checkout that PYTHONPATH names, timed on request: a process of `versions`.

Each line of standard input is a request in JSON: a case to make ready, whose final weights go to a
file and which is answered with its number, or such a number, which is answered with the CPU seconds
of one run. The `benchmarks` and `orla` may be older ones: only what both versions have is used,
`Problem(name, hidden, steps)` and `engine(problem, models, learner, optimizer, batch)`.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import numpy as np

from benchmarks.engine import engine
from benchmarks.problem import Problem


def _configure() -> None:
    try:
        from orla.programs import compiling
    except ImportError:  # where it stood before
        from orla import compiling
    compiling.configure(threads=1)


def main() -> None:
    """Answer requests until there are none."""
    _configure()
    ready = []
    for line in sys.stdin:
        request = json.loads(line)
        if isinstance(request, dict):
            problem = Problem(*request["problem"])
            names = (request["learner"], request["optimizer"])
            run = engine(problem, request["models"], *names, batch=request["batch"])
            np.savez(request["weights"], **run())
            ready.append(run)
            answer = len(ready) - 1
        else:
            gc.collect()
            start = time.process_time()
            ready[request]()
            answer = time.process_time() - start
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
