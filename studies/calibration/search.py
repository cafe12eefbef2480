"""Search for magnitudes of the simulation that reach the targets of targets.yaml.

    python studies/calibration/search.py             a random search, then small changes
    python studies/calibration/search.py --write     and write what docs/calibration.md shows
    python studies/calibration/search.py --measure   measure again what an earlier search found

No network is trained and no learner runs: a candidate is a pair of simulated sessions and ridge
decoders. While candidates are compared the behavior is sampled at 50 Hz, which leaves the laws of
the simulation as they are, draws other reaches and spikes of the same units, and takes less time.
The present settings and the best ones found are then measured at the rate of the config; that the
present ones are measured at both says how much two draws differ. Every draw follows from --seed.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import targets as published
from simulated import ROOT, changed, measured, task_of

from orla.errors import exit_in_one_line
from orla.files import atomic
from orla.progress import bar
from orla.sessions.simulator import Settings
from orla.tasks.recordings import Recordings

FOLDER = ROOT / "docs/calibration"
SEARCH_HZ = 50.0
SEARCH_LAGS = (1, 2, 5, 10)
# Key -> lowest and highest value that is tried.
BOUNDS = {
    "task.reaction_s": (0.15, 0.3),
    "task.movement_s": (0.2, 0.45),
    "task.hold_s": (0.2, 0.6),
    "array.velocity_depth": (0.25, 0.7),
    "array.fast_depth": (0.05, 0.35),
    "array.fast_s": (0.1, 1.5),
    "array.crossings_share": (0.4, 1.0),
    "drift.gain": (0.0, 0.5),
    "drift.lost": (0.3, 0.8),
    "drift.rotation_rad": (0.3, 1.3),
}
# Of a small change: how many magnitudes move, and by which share of their bounds (sd).
MOVED = (1, 4)
STEP = (0.2, 0.03)


def value_of(given: Settings, key: str) -> float:
    """The value of a key such as ``drift.lost``."""
    part, name = key.split(".")
    return getattr(getattr(given, part), name)


def near(values: dict[str, float], step: float, rng: np.random.Generator) -> dict[str, float]:
    """Values of which some have moved a little, within their bounds."""
    moved = rng.choice(list(BOUNDS), size=rng.integers(*MOVED), replace=False)
    proposed = dict(values)
    for key in moved:
        low, high = BOUNDS[key]
        proposed[key] = float(
            np.clip(values[key] + step * (high - low) * rng.standard_normal(), low, high)
        )
    return proposed


def search(
    task: Recordings, targets: pd.DataFrame, draws: int, steps: int, seed: int
) -> tuple[dict[str, float], pd.DataFrame]:
    """The best values found, and a row a candidate: its values and its loss.

    The present settings are the first candidate; `draws` follow within `BOUNDS`, then `steps` small
    changes of the best so far, which shrink from the first of `STEP` to the second.
    """
    rng = np.random.default_rng(seed)
    given = task.simulated
    fast = changed(given, {"task.sample_hz": SEARCH_HZ})
    best, least, rows = {}, np.inf, []
    for i in bar(range(1 + draws + steps), "calibration"):
        if i == 0:
            values = {key: value_of(given, key) for key in BOUNDS}
        elif i <= draws:
            values = {key: float(rng.uniform(*bounds)) for key, bounds in BOUNDS.items()}
        else:
            step = STEP[0] * (STEP[1] / STEP[0]) ** ((i - draws - 1) / max(steps - 1, 1))
            values = near(best, step, rng)
        loss = published.loss(targets, measured(changed(fast, values), task, SEARCH_LAGS)[0])
        rows.append(values | {"loss": loss})
        if loss < least:
            best, least = values, loss
    return best, pd.DataFrame(rows)


def written(table: pd.DataFrame, name: str) -> None:
    """Write a table beside docs/calibration.md."""
    FOLDER.mkdir(exist_ok=True)
    with atomic(FOLDER / f"{name}.csv") as partial:
        table.round(4).to_csv(partial, index=False)


def main() -> None:
    """Print each target, its published range and what is reached; --write writes it too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=ROOT / "config.yaml")
    parser.add_argument("--draws", type=int, default=4, help="random candidates")
    parser.add_argument("--steps", type=int, default=36, help="small changes of the best")
    parser.add_argument("--seed", type=int, default=0, help="of the search's own draws")
    parser.add_argument("--measure", action="store_true", help="no search: take settings.csv")
    parser.add_argument("--write", action="store_true", help="write docs/calibration/*.csv")
    arguments = parser.parse_args()
    task, targets = task_of(arguments.config), published.load()
    given, start = task.simulated, time.perf_counter()
    if arguments.measure:
        best = pd.read_csv(FOLDER / "settings.csv").set_index("key")["found"].to_dict()
    else:
        best, rows = search(task, targets, arguments.draws, arguments.steps, arguments.seed)
        print(f"{len(rows)} candidates, {time.perf_counter() - start:.0f} s")
    measures = {
        "present": measured(given, task)[0],
        "again": measured(changed(given, {"task.sample_hz": SEARCH_HZ}), task)[0],
        "found": measured(changed(given, best), task)[0],
    }
    table = published.table(targets, **measures)
    print(table.drop(columns="place").round(3).to_string(index=False))
    used = pd.DataFrame(
        {"key": key, "present": value_of(given, key), "found": best[key], "low": low, "high": high}
        for key, (low, high) in BOUNDS.items()
    )
    print(used.round(3).to_string(index=False))
    for name, values in measures.items():
        print(f"weighted squared distance, {name}: {published.loss(targets, values):.2f}")
    if arguments.write:
        written(table, "targets")
        written(used, "settings")
        if not arguments.measure:
            written(rows, "candidates")


if __name__ == "__main__":
    with exit_in_one_line():
        main()
