"""Account of a run: its CPU seconds by phase, its work, and an estimate before it runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# CPU microseconds of a step of one model, on a core of a busy AMD EPYC (Zen 4): a vanilla RNN of
# 64 units and 40 inputs in float64.
STEP_US = {"exact": 239.0, "step": 12.0, "window": 7.8, "pretraining": 5.5, "scoring": 2.2}
START_S = 2.5  # of a process that imports PyTorch
PROGRAM_S = 11.0  # of one compilation
_UNITS, _INPUTS = 64, 40
# Time grows less than the numbers that a step goes through: 32 units take 0.4 of the time of 64.
_GROWTH = 0.87


def costs(*folders: str | Path, since: float = 0.0) -> Iterator[dict[str, Any]]:
    """What each sound cost file under `folders` holds, of those written `since` (Unix time,
    seconds).
    """
    for folder in folders:
        for file in sorted(Path(folder).rglob("*.cost.json")):
            if file.stat().st_mtime >= since and (cost := read_cost(file)):
                yield cost


def read_cost(file: Path) -> dict[str, Any] | None:
    """What a cost file holds; None of one that is missing, damaged, or older than CPU seconds."""
    try:
        cost = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cost if "cpu_by_phase_s" in cost else None


def cpu_summary(*folders: str | Path, since: float = 0.0) -> str:
    """CPU seconds and shares over half a per cent: "CPU 512 s: learners 61 %, compiling 19 %,
    ...".
    """
    cpu_s: Counter[str] = Counter()
    for cost in costs(*folders, since=since):
        cpu_s.update(cost["cpu_by_phase_s"])
    total = cpu_s.total()
    shares = [f"{n} {100 * s / total:.0f} %" for n, s in cpu_s.most_common() if s > total / 200]
    return f"CPU {total:.0f} s: {', '.join(shares) or 'no job ran'}"


def counts(*folders: str | Path, since: float = 0.0) -> dict[str, int]:
    """Work of a run without a clock: processes that wrote a cost file, those with PyTorch,
    compiled programs, steps of single models by phase, and bytes of all files under `folders`.
    """
    totals = Counter(processes=0, pytorch=0, programs=0, steps_learners=0, steps_scoring=0)
    for cost in costs(*folders, since=since):
        first = "starting" in cost["cpu_by_phase_s"]  # of a process's files
        totals.update(processes=first, pytorch=first and cost["pytorch"], programs=cost["programs"])
        totals.update({f"steps_{name}": n for name, n in cost["steps"].items()})
    files = (file for folder in folders for file in Path(folder).rglob("*") if file.is_file())
    totals["size_bytes"] = sum(file.stat().st_size for file in files)
    return dict(totals)


@dataclass(frozen=True)
class PlannedWork:
    """A part of a job that is to run: steps of single models (seeds x rates x steps of the
    stream), each of a kind of `STEP_US`.
    """

    kind: str
    steps: int
    hidden: int = _UNITS

    @property
    def cpu_s(self) -> float:
        """About how many CPU seconds it takes, without the start of its process."""
        size = self.hidden * (self.hidden + _INPUTS)
        usual = _UNITS * (_UNITS + _INPUTS)
        if self.kind == "exact":  # which carries a derivative of each unit by each parameter
            size, usual = size * self.hidden, usual * _UNITS
        return 1e-6 * self.steps * STEP_US[self.kind] * (size / usual) ** _GROWTH


def forecast(jobs: Iterable[float], cores: int = 1) -> str:
    """About what jobs take (CPU seconds of each), a core each: "about 6 min on 2 cores (CPU 640
    s)".
    """
    seconds = [0.0, *jobs]
    cpu_s = sum(seconds)
    wall_s = max(cpu_s / cores, *seconds)
    wall = f"{wall_s:.0f} s" if wall_s < 100 else f"{wall_s / 60:.0f} min"
    return f"about {wall} on {cores} core{'s' * (cores > 1)} (CPU {cpu_s:.0f} s)"
