"""Account of a run: its CPU seconds by phase, its work, and an estimate before it runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
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


def read_cost(file: Path) -> dict[str, Any] | None:
    """What a cost file holds; None of one that is missing, damaged, or older than CPU seconds."""
    try:
        cost = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cost if "cpu_by_phase_s" in cost else None


def cpu_summary(*folders: str | Path, since: float = 0.0) -> str:
    """CPU seconds of all cost files under `folders` that were written `since` (Unix time, seconds),
    and shares over half a per cent: "CPU 512 s: learners 61 %, compiling 19 %, ...".
    """
    cpu_s: Counter[str] = Counter()
    for file in (file for folder in folders for file in sorted(Path(folder).rglob("*.cost.json"))):
        if file.stat().st_mtime >= since and (cost := read_cost(file)):
            cpu_s.update(cost["cpu_by_phase_s"])
    total = cpu_s.total()
    shares = [f"{n} {100 * s / total:.0f} %" for n, s in cpu_s.most_common() if s > total / 200]
    return f"CPU {total:.0f} s: {', '.join(shares) or 'no job ran'}"


def planned_cpu_s(kind: str, steps: float, hidden: int = _UNITS) -> float:
    """About how many CPU seconds work of a kind of `STEP_US` takes, without its process's start.

    `steps` are those of single models: seeds x rates x steps of the stream.
    """
    size, usual = hidden * (hidden + _INPUTS), _UNITS * (_UNITS + _INPUTS)
    if kind == "exact":  # which carries a derivative of each unit by each parameter
        size, usual = size * hidden, usual * _UNITS
    return 1e-6 * steps * STEP_US[kind] * (size / usual) ** _GROWTH


def forecast(jobs: Iterable[float], cores: int = 1) -> str:
    """About what jobs take (CPU seconds), a core each: "about 6 min on 2 cores (CPU 640 s)"."""
    seconds = [0.0, *jobs]
    cpu_s = sum(seconds)
    wall_s = max(cpu_s / cores, *seconds)
    wall = f"{wall_s:.0f} s" if wall_s < 100 else f"{wall_s / 60:.0f} min"
    return f"about {wall} on {cores} core{'s' * (cores > 1)} (CPU {cpu_s:.0f} s)"
