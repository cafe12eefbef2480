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
from orla.command.plan import estimate_run
from orla.command.studies import Study
from tests.tables_of_docs import put, table

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
# O'Doherty's recordings with every learner, as an overlay of config/odoherty-pairs.yaml.
_EVERYTHING = {
    "name": "everything",
    "pathvars": {"results": "results/everything", "reports": "reports/everything"},
    "conditions": [
        {
            **_LARGE["conditions"][0],
            "name": "everything",
            "tasks": ["recordings"],
            "learners": [
                *("immediate", "immediate-200", "tbptt-200-200", "rtrl", "snap", "uoro", "kf-rtrl"),
                *("trace", "rflo", "eprop", "last-layer"),
            ],
            "splits": ["80-20", "50-50"],
            "seeds": 5,
        }
    ],
    "registrations": {"folders": []},
    "truth": {"studies": 0},
    "horizons": {"tasks": []},
}
PAGE = Path(__file__).parents[1] / "docs/cluster.md"


def plans() -> None:
    """Plan studies that have no results here; print and keep what they take."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "study")
        subprocess.run(["git", "clone", "--quiet", ".", copy], check=True)
        pairs = {f"array-{i:02d}": {"a": f"a{i}", "b": f"b{i}", "seed": i} for i in range(1, PAIRS)}
        large = _LARGE | {"tasks": {"many-arrays": {"pairs": pairs}}}
        Path(copy, "config/large.yaml").write_text(yaml.safe_dump(large))
        Path(copy, "config/everything.yaml").write_text(yaml.safe_dump(_EVERYTHING))
        for name in (*STUDIES, "large", "everything"):
            names = ["odoherty-pairs", name] if name == "everything" else [name] if name else []
            overlays = [copy / f"config/{each}.yaml" for each in names]
            began, before = time.perf_counter(), os.times()
            with chdir(copy):
                what = estimate_run(Study(copy, tuple(overlays)))
            after = os.times()
            rows.append(
                {
                    "study": name or "default",
                    "conditions": what["conditions"],
                    "jobs": sum(what["jobs"].values()),
                    "core_hours": what["cpu_s"] / 3600,
                    "least_hours": what["least_s"] / 3600,
                    # A condition leaves a table and traces, a job a log and its cost.
                    "files": 2 * (what["conditions"] + sum(what["jobs"].values())),
                    "disk_gb": what["disk_mb"] / 1000,
                    "planned_in_s": time.perf_counter() - began,
                    "planned_in_cpu_s": sum(after[:4]) - sum(before[:4]),
                    "load_average": measure.load_average(),
                }
            )
            print(rows[-1], file=sys.stderr)
    measure.keep(pd.DataFrame(rows), "plans")
    write()


def write() -> None:
    """Put the table into docs/cluster.md."""
    head = ["study", "conditions", "jobs", "core-hours", "a core for each job", "files", "disk"]
    rows = (
        (
            r.study,
            f"{r.conditions:,}",
            f"{r.jobs:,}",
            f"{r.core_hours:,.1f}",
            f"{60 * r.least_hours:,.0f} min",
            f"{r.files:,.0f}",
            f"{r.disk_gb:.1f} GB",
            f"{r.planned_in_cpu_s:.0f} s",
        )
        for r in pd.read_csv(measure.RESULTS / "plans.csv").itertuples()
    )
    put(PAGE, "plans", table([*head, "planned in (CPU)"], rows))
