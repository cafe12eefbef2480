"""What is tried for each task, the paper's errors, and how far measured ones are from them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from orla.errors import OrlaError
from orla.reports import paper

ERRORS = ("frozen", "immediate")


def load(file: Path = Path(__file__).parent / "tasks.yaml") -> list[dict[str, Any]]:
    """The entries of tasks.yaml."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def rows(wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The paper's row of each entry: the only one of its table that has all the entry says.

    Raises:
        OrlaError: None is such a row, or several are.
    """
    found = []
    for entry in wanted:
        said = {k: v for k, v in entry.items() if k != "table"}
        held = paper.load().table(entry["table"])
        fits = [row for row in held if said.items() <= row.items() and "mse" in row]
        if len(fits) != 1:
            raise OrlaError(
                f"tasks.yaml: {dict(entry)} has {len(fits)} rows with an error in the paper's "
                "numbers; say more of it, or less"
            )
        found += fits
    return found


def errors(entries: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row an instance and error that the paper gives: instance, error, low, high, place."""
    found = []
    for entry in entries:
        for instance, given in entry.get("paper", {}).items():
            for error in ERRORS:
                held = rows(given[error])
                values = [row["mse"] for row in held]
                places = dict.fromkeys(row["place"] for row in held)
                row = {"instance": instance, "error": error, "low": min(values)}
                found.append(row | {"high": max(values), "place": "; ".join(places)})
    return pd.DataFrame(found)


def candidates(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options of each candidate, without the instance's own and without the adapt part."""
    tried = {k: v for k, v in entry.get("tried", {}).items() if k != "adapt"}
    made = []
    for values in product(*tried.values()):
        options = dict(entry["given"]) | dict(zip(tried, values, strict=True))
        if "shifted_by" in options:
            options["shifted"] = round(options.pop("shifted_by") * options["frequency"], 6)
        made.append(options)
    return made


def factor(value: float, low: float, high: float) -> float:
    """A value over the nearer end of a range; 1 inside."""
    return value / min(max(value, low), high)


def distance(found: pd.DataFrame, wanted: pd.DataFrame) -> float:
    """Sum over all published errors of the squared log10 of `factor`.

    Args:
        found: columns instance, frozen, immediate.
        wanted: from `errors`; the rows of other instances are passed over.
    """
    found = found.set_index("instance")
    rows = wanted[wanted["instance"].isin(found.index)]
    with np.errstate(divide="ignore"):
        logs = [
            np.log10(factor(found.at[row.instance, row.error], row.low, row.high))
            for row in rows.itertuples()
        ]
    return float(np.square(logs).sum())
