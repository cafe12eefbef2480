"""Time, work and memory of a job, in a file beside its result.

They are not in the result, because they differ between runs and results are compared by bytes.
"""

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orla.files import atomic

_BYTES = 1 if sys.platform == "darwin" else 1024  # of one unit of ru_maxrss
_STATUS = Path("/proc/self/status")
_BETWEEN = ""  # the name of what happens outside of phases


@dataclass
class Ledger:
    """CPU seconds, steps and programs of this process since its last cost file, or its start.

    `open` are the phases that have not ended; `until_s` CPU seconds, children's too, that are
    counted so far; `filed_s` those of the process and of children up to the last file.
    """

    cpu_s: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    open: list[str] = field(default_factory=lambda: [_BETWEEN])
    until_s: float = 0.0
    filed_s: tuple[float, float] = (0.0, 0.0)
    has_begun: bool = False

    def settle(self) -> None:
        """Count what was spent since the last call under the innermost open phase."""
        now = sum(_cpu_s())
        self.cpu_s[self.open[-1]] += now - self.until_s
        self.until_s = now

    def entry(self, rest: str) -> dict[str, object]:
        """What a file holds; the next one begins with nothing."""
        self.settle()
        now = _cpu_s()
        process_s, children = (a - b for a, b in zip(now, self.filed_s, strict=True))
        by_phase = Counter(self.cpu_s)
        by_phase[rest] += by_phase.pop(_BETWEEN, 0.0)
        costs = {
            "cpu_s": round(process_s, 3),
            "cpu_children_s": round(children, 3),
            "cpu_by_phase_s": {name: round(s, 3) for name, s in by_phase.items()},
            "steps": dict(self.steps),
            "programs": self.programs,
            "pytorch": "torch" in sys.modules,
        }
        self.cpu_s, self.steps, self.programs, self.filed_s = Counter(), Counter(), 0, now
        return costs


_ledger = Ledger()


@contextmanager
def record(result: str | Path, rest: str = "other") -> Iterator[None]:
    """Write the cost of the block to ``<result>.cost.json`` when it ends well.

    Its wall-clock seconds, and the most memory that the process, or any one that it started, held
    since it began (10^6 bytes); and of all that was done since the last such file: CPU seconds of
    the process and its children, both by `phase` ("starting" is before the first block, `rest`
    outside of phases), steps of single models, compiled programs, and whether PyTorch is loaded.
    """
    began = time.perf_counter()
    _ledger.settle()
    if not _ledger.has_begun:
        _ledger.has_begun = True
        _ledger.cpu_s["starting"] += _ledger.cpu_s.pop(_BETWEEN, 0.0)
    yield
    cost = {
        "wall_s": round(time.perf_counter() - began, 3),
        "peak_rss_mb": round(peak_bytes() / 1e6, 1),
        "peak_rss_children_mb": round(_largest(resource.RUSAGE_CHILDREN) / 1e6, 1),
        **_ledger.entry(rest),
    }
    with atomic(f"{result}.cost.json") as partial:
        partial.write_text(json.dumps(cost, indent=1) + "\n")


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count the CPU seconds of the block under `name`, those of a phase within it under its own."""
    _ledger.settle()
    _ledger.open.append(name)
    try:
        yield
    finally:
        _ledger.settle()
        _ledger.open.pop()


def work(name: str, steps: int) -> AbstractContextManager[None]:
    """A phase that goes through `steps` steps of single models; part of the open one, if any."""
    name = _ledger.open[-1] or name
    _ledger.steps[name] += steps
    return phase(name)


def count_program() -> None:
    """Count a program that was compiled."""
    _ledger.programs += 1


def peak_bytes() -> int:
    """The most memory that this process has held since its program began.

    Linux carries ``ru_maxrss`` over from the process that started it; its status file does not.
    """
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return _largest(resource.RUSAGE_SELF)
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _largest(who: int) -> int:
    return resource.getrusage(who).ru_maxrss * _BYTES


def _cpu_s() -> tuple[float, float]:
    """CPU seconds of this process, and of those that it started and waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    process_s, children = (usage.ru_utime + usage.ru_stime for usage in usages)
    return process_s, children
