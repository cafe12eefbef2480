"""Put the tables of docs/tasks/ into docs/tasks.md, between their marks.

python studies/choosing/tables.py
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import published
import yaml
from measure import OVERLAY

from orla.files import atomic

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tasks.md"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# Columns of the table `scored`, and those of chosen.csv.
_SCORED = {
    "frozen, adapt": "study_frozen",
    "immediate, adapt": "study_immediate",
    "frozen, held-out": "study_frozen_heldout",
    "immediate, held-out": "study_immediate_heldout",
    "reference": "study_reference",
    "rate": "study_learning_rate",
    "share unreliable": "study_unreliable",
}


def written(table: pd.DataFrame, name: str) -> None:
    """Write a table beside docs/tasks.md, numbers to six digits."""
    (DOCS / "tasks").mkdir(exist_ok=True)
    with atomic(DOCS / "tasks" / f"{name}.csv") as partial:
        table.to_csv(partial, index=False, float_format="%.6g")


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(DOCS / "tasks" / f"{name}.csv")


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else f"{value:.2g}"


def _range(low: float, high: float) -> str:
    """A published error, with the digits that the paper prints."""
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _near() -> list[dict[str, str]]:
    """Each published error, what was measured, and by what factor that is off."""
    chosen, rows = _read("chosen").set_index("instance"), []
    for one in _read("paper").itertuples():
        row = {"task": one.instance, "error": one.error, "paper": _range(one.low, one.high)}
        for name, column in (("search", one.error), ("other seeds", f"study_{one.error}")):
            value = chosen.at[one.instance, column]
            row[name] = _cell(value)
            row[f"{name}, over paper's"] = _cell(published.factor(value, one.low, one.high))
        rows.append(row | {"place": one.place})
    return rows


def _scored() -> list[dict[str, str]]:
    return [
        {"task": row["instance"]} | {name: _cell(row[column]) for name, column in _SCORED.items()}
        for row in _read("chosen").to_dict("records")
    ]


def _options() -> list[dict[str, str]]:
    tasks = yaml.safe_load(OVERLAY.read_text(encoding="utf-8"))["tasks"]
    # What is recorded, or simulated in its place, was not chosen by the search.
    chosen = {n: spec for n, spec in tasks.items() if spec and spec["kind"] != "recordings"}
    return [
        {
            "task": name,
            "kind": spec["kind"],
            "options": ", ".join(f"{k} {v}" for k, v in spec.items() if k != "kind"),
        }
        for name, spec in chosen.items()
    ]


def _tried() -> list[dict[str, str]]:
    rows = []
    for entry in published.load():
        for option, values in entry.get("tried", {}).items():
            shown = ", ".join(map(str, values))
            rows.append({"task": ", ".join(entry["instances"]), "option": option, "tried": shown})
    return rows


def block(name: str) -> str:
    """The text of a table."""
    made = {"near": _near, "scored": _scored, "options": _options, "tried": _tried}[name]()
    lines = [list(made[0]), ["---"] * len(made[0]), *(row.values() for row in made)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(text: str) -> str:
    """The page with its tables written anew."""
    return _BLOCK.sub(lambda found: found[1] + block(found[2]) + found[3], text)


def renew() -> None:
    """Write the tables of the page anew."""
    with atomic(PAGE) as partial:
        partial.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    renew()
