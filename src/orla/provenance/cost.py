"""Time and memory of a job, in a file beside its result.

They are not in the result, because they differ between runs and results are compared by bytes.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orla.files import atomic

_BYTES = 1 if sys.platform == "darwin" else 1024  # of one unit of ru_maxrss


@contextmanager
def measured(result: str | Path) -> Iterator[None]:
    """Write the cost of the block to ``<result>.cost.json`` when it ends well.

    The file holds ``wall_s`` (seconds of the block), ``peak_rss_mb`` (most memory that the
    process held since it began, in 10^6 bytes) and ``peak_rss_children_mb`` (the most that any
    one process it started and waited for held).

    Raises:
        OrlaError: When the disk is full.
    """
    began = time.perf_counter()
    yield
    cost = {
        "wall_s": round(time.perf_counter() - began, 3),
        "peak_rss_mb": _peak_mb(resource.RUSAGE_SELF),
        "peak_rss_children_mb": _peak_mb(resource.RUSAGE_CHILDREN),
    }
    with atomic(f"{result}.cost.json") as partial:
        partial.write_text(json.dumps(cost, indent=1) + "\n")


def _peak_mb(who: int) -> float:
    return round(resource.getrusage(who).ru_maxrss * _BYTES / 1e6, 1)
