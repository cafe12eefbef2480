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
_STATUS = Path("/proc/self/status")


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
        "peak_rss_mb": round(peak_bytes() / 1e6, 1),
        "peak_rss_children_mb": round(_largest(resource.RUSAGE_CHILDREN) / 1e6, 1),
    }
    with atomic(f"{result}.cost.json") as partial:
        partial.write_text(json.dumps(cost, indent=1) + "\n")


def peak_bytes() -> int:
    """The most memory that this process has held since its program began.

    Linux carries ``ru_maxrss`` over from the process that started this one; its status file
    does not.
    """
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return _largest(resource.RUSAGE_SELF)
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _largest(who: int) -> int:
    return resource.getrusage(who).ru_maxrss * _BYTES
