"""The targets of the calibration, and how far measured magnitudes are from them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

HERE = Path(__file__).parent
_SESSION = re.compile(r" [AB](?=,|$)")


def load() -> pd.DataFrame:
    """A row a target: name, low, high, scale, weight, place."""
    listed = yaml.safe_load((HERE / "targets.yaml").read_text(encoding="utf-8"))
    ranges = pd.read_csv(HERE / "recording.csv").set_index("name")
    for target in listed:
        if "low" not in target:
            found = ranges.loc[_SESSION.sub("", target["name"])]
            target |= {column: found[column] for column in ("low", "high", "place")}
    return pd.DataFrame(listed)[["name", "low", "high", "scale", "weight", "place"]]


def off(targets: pd.DataFrame, found: dict[str, float]) -> np.ndarray:
    """Distance of each magnitude from its range: 0 inside, negative below, positive above."""
    values = np.array([found[name] for name in targets["name"]])
    return np.maximum(values - targets["high"], 0) - np.maximum(targets["low"] - values, 0)


def loss(targets: pd.DataFrame, found: dict[str, float]) -> float:
    """Weighted sum of squared distances, each over its scale."""
    return float((targets["weight"] * (off(targets, found) / targets["scale"]) ** 2).sum())


def table(targets: pd.DataFrame, **columns: dict[str, float]) -> pd.DataFrame:
    """A row a target: name, low, high, and of each of `columns` the value and how far off it is."""
    rows = targets[["name", "low", "high"]].copy()
    for name, found in columns.items():
        rows[name] = [found[target] for target in targets["name"]]
        rows[f"{name}_off"] = off(targets, found)
    return rows.assign(place=targets["place"])
