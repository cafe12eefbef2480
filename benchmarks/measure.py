"""CPU time, the machine, and the csv files that keep both."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from orla.provenance import collect as provenance

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "numpy", "jax", "jaxlib", "numba", "braintrace")


def best_cpu_seconds(
    runs: Sequence[Callable[[], Any]], repeats: int
) -> tuple[list[float], list[float]]:
    """Smallest CPU time of each run, and the load averages met, over `repeats` rounds of them all.

    The smallest is what is left when nothing else disturbs; in rounds, a busy minute meets all.
    """
    best, load = [float("inf")] * len(runs), []
    for _ in range(repeats):
        for index, run in enumerate(runs):
            gc.collect()
            start = time.process_time()
            run()
            best[index] = min(best[index], time.process_time() - start)
        load.append(load_average())
    return best, load


def load_average() -> float:
    """Processes that wanted a core over the last minute."""
    return round(os.getloadavg()[0], 2)


def machine() -> dict[str, str]:
    """What the figures depend on: processor, cores, instruction set, versions, commit."""
    code = provenance.commit_state(Path(__file__))
    described = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "blas": _blas(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "platform": platform.platform(),
        "python": platform.python_version(),
        "commit": code["commit"] + (" and changes" if code["dirty"] else ""),
    }
    return described | {package: _version(package) for package in _PACKAGES}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), "unknown"
    )


def _blas() -> str:
    """NumPy's, and the kernels that it chose for this processor."""
    try:
        from threadpoolctl import threadpool_info
    except ModuleNotFoundError:
        return "unknown"
    blas = [x for x in threadpool_info() if x["user_api"] == "blas"]
    each = {f"{x['internal_api']} {x['version']} {x.get('architecture', '')}".strip() for x in blas}
    return ", ".join(sorted(each)) or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def keep(frame: pd.DataFrame, name: str) -> None:
    """Write results/NAME.csv and, beside it, the machine that it was measured on."""
    RESULTS.mkdir(exist_ok=True)
    frame.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
    described = pd.DataFrame(machine().items(), columns=["what", "value"])
    described.to_csv(RESULTS / f"{name}_machine.csv", index=False, lineterminator="\n")
