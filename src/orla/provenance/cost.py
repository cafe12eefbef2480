"""Time, work and memory of a job, in a file beside its result; their sums and an estimate of them.

They are not in the result, because they differ between runs and results are compared by bytes.
"""

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orla.files import atomic

_BYTES = 1 if sys.platform == "darwin" else 1024  # of one unit of ru_maxrss
_STATUS = Path("/proc/self/status")
# CPU microseconds of a step of one model, on a core of a busy AMD EPYC (Zen 4): a vanilla RNN of
# 64 units and 40 inputs in float64.
STEP_US = {"exact": 239.0, "step": 12.0, "window": 7.8, "pretraining": 5.5, "scoring": 2.2}
# The same of a step of a whole batch where nothing is compiled: it waits for Python.
UNCOMPILED_US = {"exact": 2900, "step": 700, "window": 200, "pretraining": 200, "scoring": 110}
START_S = 2.5  # of a process that imports PyTorch
PROGRAM_S = 11.0  # of one compilation
_UNITS, _INPUTS = 64, 40
# Time grows less than the numbers that a step goes through: 32 units take 0.4 of the time of 64.
_GROWTH = 0.87
_BETWEEN = ""  # the name of what happens outside of phases


@dataclass
class Ledger:
    """CPU seconds, steps and programs of this process since its last cost file, or its start.

    `open` are the phases that have not ended, within "starting" before the first cost file, then
    within `_BETWEEN`; `until_s` CPU seconds, children's too, that are counted so far; `filed_s`
    those of the process and of children up to the last file.
    """

    cpu_s: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    open: list[str] = field(default_factory=lambda: ["starting"])
    until_s: float = 0.0
    filed_s: tuple[float, float] = (0.0, 0.0)

    def settle(self) -> None:
        """Count what was spent since the last call under the innermost open phase."""
        now = sum(_cpu_s())
        self.cpu_s[self.open[-1]] += now - self.until_s
        self.until_s = now

    def pop_costs(self, default_phase: str) -> dict[str, object]:
        """The costs since the last cost file; the next ones begin with nothing."""
        self.settle()
        now = _cpu_s()
        process_s, children_s = (a - b for a, b in zip(now, self.filed_s, strict=True))
        self.cpu_s[default_phase] += self.cpu_s.pop(_BETWEEN, 0.0)
        costs = {
            "cpu_s": round(process_s, 3),
            "cpu_children_s": round(children_s, 3),
            "cpu_by_phase_s": {name: round(s, 3) for name, s in self.cpu_s.items()},
            "steps": dict(self.steps),
            "programs": self.programs,
            "pytorch": "torch" in sys.modules,
        }
        self.cpu_s, self.steps, self.programs, self.filed_s = Counter(), Counter(), 0, now
        return costs


_ledger = Ledger()


@contextmanager
def record(result: str | Path, default_phase: str = "other") -> Iterator[None]:
    """Write the cost of the block to ``<result>.cost.json`` when it ends well.

    Its wall-clock seconds, and the most memory that the process, or any one that it started, held
    since it began (10^6 bytes); and of all that was done since the last such file: CPU seconds of
    the process and children, by `phase` ("starting" before the first block, `default_phase` outside
    of phases), steps of single models, compiled programs, and whether PyTorch is loaded.
    """
    began = time.perf_counter()
    _ledger.settle()
    _ledger.open[0] = _BETWEEN
    yield
    cost = {
        "wall_s": round(time.perf_counter() - began, 3),
        "peak_rss_mb": round(peak_bytes() / 1e6, 1),
        "peak_rss_children_mb": round(_peak_rss_bytes(resource.RUSAGE_CHILDREN) / 1e6, 1),
        **_ledger.pop_costs(default_phase),
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


def work_phase(name: str, steps: int) -> AbstractContextManager[None]:
    """A phase that goes through `steps` steps of single models; part of the open one, if any."""
    name = _ledger.open[-1] if _ledger.open[1:] else name
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
        return _peak_rss_bytes(resource.RUSAGE_SELF)
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _peak_rss_bytes(who: int) -> int:
    """The most memory of this process or of one that it started, by resource.RUSAGE_*."""
    return resource.getrusage(who).ru_maxrss * _BYTES


def _cpu_s() -> tuple[float, float]:
    """CPU seconds of this process, and of those that it started and waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return tuple(usage.ru_utime + usage.ru_stime for usage in usages)


def read_cost(cost_file: Path) -> dict[str, Any] | None:
    """What a cost file holds; None of one that is missing, damaged, or older than CPU seconds."""
    try:
        cost = json.loads(cost_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cost if "cpu_by_phase_s" in cost else None


def cpu_summary(*folders: str | Path, since: float = 0.0) -> str:
    """CPU seconds of all cost files under `folders`: "CPU 512 s: learners 61 %, ...".

    Of those that were written `since` (Unix time, seconds); with the shares over half a per cent.
    """
    cpu_s: Counter[str] = Counter()
    for file in (file for folder in folders for file in sorted(Path(folder).rglob("*.cost.json"))):
        if file.stat().st_mtime >= since and (cost := read_cost(file)):
            cpu_s.update(cost["cpu_by_phase_s"])
    total = cpu_s.total()
    shares = [f"{n} {100 * s / total:.0f} %" for n, s in cpu_s.most_common() if s > total / 200]
    return f"CPU {total:.0f} s: {', '.join(shares) or 'no job ran'}"


def planned_cpu_s(kind: str, steps: float, hidden: int = _UNITS, larger: float = 1.0) -> float:
    """About how many CPU seconds work of a kind of `STEP_US` takes, without its process's start.

    `steps` are those of single models: seeds x rates x steps of the stream; `larger` says how many
    times as many numbers a step goes through as with an RNN of as many units.
    """
    size, usual = hidden * (hidden + _INPUTS), _UNITS * (_UNITS + _INPUTS)
    if kind == "exact":  # which carries a derivative of each unit by each parameter
        size, usual = size * hidden, usual * _UNITS
    return 1e-6 * steps * STEP_US[kind] * (larger * size / usual) ** _GROWTH


def forecast_text(jobs: Iterable[float], cores: int = 1) -> str:
    """About what jobs take (CPU seconds), a core each: "about 6 min on 2 cores (CPU 640 s)"."""
    seconds = [0.0, *jobs]
    cpu_s = sum(seconds)
    wall_s = max(cpu_s / cores, *seconds)
    wall = f"{wall_s:.0f} s" if wall_s < 100 else f"{wall_s / 60:.0f} min"
    return f"about {wall} on {cores} core{'s' * (cores > 1)} (CPU {cpu_s:.0f} s)"
