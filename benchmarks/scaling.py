"""Cost against the number of units: immediate, tbptt and exact RTRL, with fitted slopes."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from benchmarks import measure
from benchmarks.engine import engine
from benchmarks.memory import predicted_bytes
from benchmarks.problem import Problem
from orla.reports import style
from orla.reports.words import PartNames

UNITS = (32, 64, 128, 256, 512, 1024)
# Exact RTRL at 1,024 units needs more, and about a second a step: its memory alone is told.
MOST_MB = 8000
# (learner, optimizer, steps, models): steps hold whole blocks of exact RTRL.
RUNS = (
    ("immediate", "adam", 400, 5),
    ("tbptt-200-200", "adam", 400, 5),
    ("rtrl", "sgd", 192, 1),
)
FITTED = (64, 256)


def scaling(repeats: int, largest: int) -> None:
    """Measure one architecture's cost at each size, print slopes, keep csv and figure."""
    rows = []
    for learner, optimizer, steps, models in RUNS:
        for hidden in (n for n in UNITS if n <= largest):
            case = {"learner": learner, "optimizer": optimizer, "hidden": hidden, "models": models}
            sizes = {"architecture": "rnn", "precision": "float64", "steps": steps}
            rows.append(case | {"predicted_mb": predicted_bytes(case | sizes) / 1e6})
            if rows[-1]["predicted_mb"] > MOST_MB:
                print(f"{learner:>14}{hidden:>6} needs {rows[-1]['predicted_mb']:.0f} MB: not run")
                continue
            run = engine(Problem("rnn", hidden, steps), models, learner, optimizer)
            run()
            (seconds,), load = measure.best_cpu_seconds([run], repeats)
            cost = seconds * 1e6 / steps / models
            rows[-1] |= {"us_per_model_and_step": cost, "load_average_most": max(load)}
            print(f"{learner:>14}{hidden:>6}{cost:>12.1f} us", flush=True)
    frame = pd.DataFrame(rows)
    frame["slope_64_to_256"] = frame["learner"].map(slopes(frame))
    print(frame.groupby("learner", sort=False)["slope_64_to_256"].first().round(2).to_string())
    measure.keep(frame, "scaling")
    draw(frame, measure.RESULTS / "scaling.pdf", measure.RESULTS / "scaling.png")


def slopes(frame: pd.DataFrame) -> dict[str, float]:
    """Exponent of the power law fitted to cost from 64 to 256 units, by learner."""
    fitted = {}
    for learner, part in frame[frame["hidden"].between(*FITTED)].groupby("learner"):
        if len(part) > 1:
            logs = np.log(part["hidden"]), np.log(part["us_per_model_and_step"])
            fitted[str(learner)] = float(np.polyfit(*logs, 1)[0])
    return fitted


def draw(frame: pd.DataFrame, *paths: Path) -> None:
    """Cost against units on two logarithmic axes, slopes in the legend."""
    fitted = slopes(frame)
    names = {name: f"{name} (slope {fitted.get(name, np.nan):.2f})" for name in frame["learner"]}
    shown = frame.assign(learner=frame["learner"].map(names))
    marks = {names[name]: mark for name, mark in style.marks("learner", names, PartNames()).items()}
    with style.house_style():
        figure, axes = plt.subplots(figsize=(style.ONE_COLUMN_IN, 2.6), layout="constrained")
        sns.lineplot(
            shown,
            x="hidden",
            y="us_per_model_and_step",
            hue="learner",
            style="learner",
            palette={label: mark.color for label, mark in marks.items()},
            markers={label: mark.marker for label, mark in marks.items()},
            dashes=False,
            ax=axes,
        )
        units = sorted(frame["hidden"].unique())
        axes.set(xscale="log", yscale="log", xlabel="units", ylabel="µs per model and step")
        axes.set_xticks(units, [str(n) for n in units])
        axes.minorticks_off()
        axes.legend(title=None)
        style.save(figure, *paths)
