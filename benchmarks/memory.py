"""Predicted against measured peak memory of sweep jobs, and the paper's Figure (a) from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from benchmarks import job, measure
from orla.catalogue.entries import packaged_declarations
from orla.engine.memory_request import BESIDE, job_mb
from orla.reports import style
from orla.reports.words import PartNames
from orla.study.declarations import specification

STEPS, STEPS_LARGE = 1000, 100  # the latter still hold a whole block of exact RTRL
LARGE = 512
CASES = [
    # architecture, learner, optimizer, hidden, models, precision
    ("rnn", "immediate", "adam", 64, 5, "float64"),
    ("rnn", "immediate", "adam", 64, 1000, "float64"),
    ("lstm", "immediate", "adafactor", 64, 25, "float32"),
    ("rnn", "tbptt-200-200", "adam", 64, 400, "float64"),
    ("rnn", "rtrl", "sgd", 64, 5, "float64"),
    ("lstm", "rtrl", "adam", 64, 5, "float64"),
    ("rnn", "rtrl", "adam", 128, 5, "float32"),
    ("rnn", "rtrl", "sgd", 256, 1, "float64"),
    ("rnn", "rtrl", "sgd", 256, 4, "float64"),
    # The other points of the figure.
    ("rnn", "immediate", "sgd", 64, 1, "float64"),
    ("rnn", "immediate", "sgd", 1024, 1, "float64"),
    ("rnn", "rtrl", "sgd", 64, 1, "float64"),
    ("rnn", "rtrl", "sgd", 512, 1, "float64"),
    ("rnn", "rtrl", "sgd", 1024, 1, "float64"),
]
FIELDS = ("architecture", "learner", "optimizer", "hidden", "models", "precision")


def predicted_bytes(case: Mapping[str, Any]) -> int:
    """Memory that a job's own process is given, without Snakemake's and the C++ compiler's."""
    parts = packaged_declarations("parts")
    asked = {
        "network": {"kind": case["architecture"], "hidden": case["hidden"]},
        "learner": specification(parts, "learner", case["learner"], {}),
        **{"observers": {}, "interventions": [], "probes": []},
        **{"stable_windows": 0, "horizons": []},
    }
    sizes = {name: case[name] for name in ("models", "steps")}
    mb = job_mb(asked, n_in=job.N_IN, n_out=job.N_OUT, **sizes)
    return int(1e6 * (mb / 1.1 - BESIDE))


def measured_bytes(case: Mapping[str, Any]) -> int:
    """Peak memory of a sweep job in a process of its own, which compiles its loop afresh."""
    command = [sys.executable, "-m", "benchmarks.job", json.dumps(dict(case))]
    with tempfile.TemporaryDirectory() as cache:
        env = {k: v for k, v in os.environ.items() if k != "TORCHINDUCTOR_CACHE_DIR"}
        env["ORLA_CACHE"] = cache
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return int(done.stdout.split()[-1])


def memory() -> None:
    """Run the cases, print and keep predicted and measured peaks, draw the figure."""
    rows = []
    print(f"{'predicted / measured':>21}{'predicted':>11}{'measured':>10}  MB")
    for case in (dict(zip(FIELDS, values, strict=True)) for values in CASES):
        case["steps"] = STEPS_LARGE if case["hidden"] >= LARGE else STEPS
        predicted = predicted_bytes(case) / 1e6
        measured = measured_bytes(case) / 1e6
        rows.append(
            case
            | {
                "predicted_over_measured": predicted / measured,
                "predicted_mb": predicted,
                "measured_mb": measured,
                "load_average": measure.load_average(),
            }
        )
        print(
            f"{predicted / measured:>21.2f}{predicted:>11.0f}{measured:>10.0f}  "
            + " ".join(str(value) for value in case.values()),
            flush=True,
        )
        measure.keep(pd.DataFrame(rows), "memory")
    draw(pd.DataFrame(rows), measure.RESULTS / "memory.pdf", measure.RESULTS / "memory.png")


def draw(measured: pd.DataFrame, *paths: Path) -> None:
    """Peak memory of one vanilla RNN against its units, predicted and, as far as run, measured."""
    units = [32, 64, 128, 256, 512, 1024]
    cases = [
        dict(zip((*FIELDS, "steps"), ("rnn", learner, "sgd", n, 1, "float64", STEPS), strict=True))
        for learner in ("immediate", "rtrl")
        for n in units
    ]
    rows = [case | {"MB": predicted_bytes(case) / 1e6} for case in cases]
    with style.house_style():
        figure, axes = plt.subplots(figsize=(style.ONE_COLUMN_IN, 2.4), layout="constrained")
        marks = style.marks("learner", ("immediate", "rtrl"), PartNames())
        palette = {name: mark.color for name, mark in marks.items()}
        sns.lineplot(
            pd.DataFrame(rows), x="hidden", y="MB", hue="learner", palette=palette, ax=axes
        )
        shown = measured[(measured["models"] == 1) & (measured["architecture"] == "rnn")]
        sns.scatterplot(
            shown,
            x="hidden",
            y="measured_mb",
            hue="learner",
            palette=palette,
            ax=axes,
            legend=False,
        )
        axes.set(xscale="log", yscale="log", xlabel="units", ylabel="peak memory of a job (MB)")
        axes.set_xticks(units, [str(n) for n in units])
        axes.minorticks_off()
        axes.legend(title=None)
        style.save(figure, *paths)
