"""What studies of this repository take by their plans, and how long a large one is planned."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path

import pandas as pd
import yaml

from benchmarks import measure
from orla.command.plan import estimate
from orla.command.studies import Study

STUDIES = ("quick", "", "mechanism", "synthetic", "odoherty", "odoherty-pairs")
# Pairs of the largest study; each has two networks, five learners and four optimizers.
PAIRS = 500
_LARGE = {
    "name": "large",
    "pathvars": {"results": "results/large", "reports": "reports/large"},
    "conditions": [
        {
            "name": "large",
            "chapter": "headline",
            "tasks": ["many-arrays"],
            "networks": ["rnn", "rnn-window-50"],
            "learners": ["immediate", "immediate-200", "tbptt-200-200", "rtrl", "last-layer"],
            "optimizers": ["adam", "lars", "sgd", "adafactor"],
            "splits": ["80-20"],
            "seeds": 3,
        }
    ],
    "registrations": {"folders": []},
    "truth": {"studies": 0},
    "horizons": {"tasks": []},
}


def plans() -> None:
    """Plan studies that have no results here; print and keep what they take."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "study")
        subprocess.run(["git", "clone", "--quiet", ".", copy], check=True)
        pairs = {f"array-{i:02d}": {"a": f"a{i}", "b": f"b{i}", "seed": i} for i in range(1, PAIRS)}
        large = _LARGE | {"tasks": {"many-arrays": {"pairs": pairs}}}
        Path(copy, "config/large.yaml").write_text(yaml.safe_dump(large))
        for name in (*STUDIES, "large"):
            overlays = [copy / f"config/{name}.yaml"] if name else []
            began, before = time.perf_counter(), os.times()
            with chdir(copy):
                what = estimate(Study.at(None, copy, overlays, []))
            after = os.times()
            rows.append(
                {
                    "study": name or "default",
                    "conditions": what.conditions,
                    "jobs": sum(what.jobs.values()),
                    "core_hours": what.cpu_s / 3600,
                    "disk_gb": what.disk_mb / 1000,
                    "planned_in_s": time.perf_counter() - began,
                    "planned_in_cpu_s": sum(after[:4]) - sum(before[:4]),
                    "load_average": measure.load_average(),
                }
            )
            print(rows[-1], file=sys.stderr)
    measure.keep(pd.DataFrame(rows), "plans")
