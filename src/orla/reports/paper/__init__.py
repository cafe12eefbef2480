"""The paper's own numbers and claims, read from the YAML files of this folder.

One file holds one table or figure: its LaTeX ``label`` (that of the section, where it has none),
``title`` and ``place`` (a row may name its own); ``common``, what holds for every row, its numbers
read from ``quotes``; and ``rows``, one for one printed row. Where rows hold several conditions,
``across`` says what each is, left to right, ``head`` is its LaTeX, and lists in rows hold a value
for each, null where the paper has none. Of a row ``quote`` is the LaTeX that its numbers are read
from, in their order; ``also`` holds what another sentence adds; ``ours`` names the instance of the
study that stands for the paper's, or lists several; ``not_comparable`` in it, or beside it, says
why both are not numbers of the same thing. Columns are named as those of our results.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import pandas as pd

from orla.errors import OrlaError
from orla.schema import nearest_hint
from orla.yaml_files import parse_yaml

# Where the paper has several figures for one condition, the first of these that has one stands
# beside ours; float64 falls back to the float32 pilot, which is then marked as such.
_PREFERENCE = {
    "float64": ("local-f64", "kaggle-f64", "pilot-f32"),
    "float32": ("local-f32", "pilot-f32"),
}
_RECOVERIES = ("headtohead", "text", "heldout", "lstm_structure")
_GAPS = ("precision_best", "text")


@dataclass(frozen=True)
class Paper:
    """The paper's numbers; ``document`` holds paper.yaml and, by file name, the other files."""

    document: dict[str, Any]

    @property
    def tables(self) -> list[str]:
        """The names that ``table`` takes."""
        files = self.document.items()
        return [name for name, file in files if isinstance(file, dict) and "rows" in file]

    def table(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table or figure, one a condition; what the paper lacks is absent.

        Raises:
            OrlaError: there is no such table.
        """
        if name not in self.tables:
            near = nearest_hint(name, self.tables)
            raise OrlaError(f'the paper\'s numbers have no table "{name}"; {near}')
        file = self.document[name]
        return [row for entry in file["rows"] for row in _rows_by_condition(entry, file)]

    def rows_in_text(self, *required_columns: str, **equal_to: Any) -> list[dict[str, Any]]:
        """The rows that the paper's text adds, of those with these columns and values."""
        rows = (row for row in self.table("text") if {*required_columns} <= row.keys())
        return [row for row in rows if equal_to.items() <= row.items()]

    @cached_property
    def names(self) -> dict[str, set[str]]:
        """The tasks and the learners that rows are about, as a study of ours has them."""
        rows = [r for name in self.tables for row in self.table(name) for r in stand_in_rows(row)]
        return {kind: {row.get(kind) for row in rows} for kind in ("task", "learner")}

    @property
    def stand_in_sessions(self) -> list[str]:
        """The names of the sessions A and B that stand for the paper's."""
        return self.document["sessions"]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims: id, text, paper, place, optional registration, and ``ours``."""
        return self.document["claims"]

    @property
    def registrations(self) -> list[str]:
        """The registrations that test a claim, the weightiest claim first."""
        return [claim["registration"] for claim in self.claims if "registration" in claim]

    def claim_tested_by(self, registration: str) -> dict[str, Any]:
        """The claim that a registration tests, or {}."""
        return next((c for c in self.claims if c.get("registration") == registration), {})

    @property
    def past_gradient_learner(self) -> str:
        return self.table("structure")[0]["learner"]

    @property
    def headline(self) -> dict[str, Any]:
        """The equivalence test: gap_pp, delta_star_pp, margin_pp, n_seeds, recoveries, place."""
        return self.document["headline"]

    @cached_property
    def heldout_recoveries(self) -> pd.DataFrame:
        """The held-out recoveries on recordings (percent); see `_preferred_rows`.

        The pilot's full RTRL (window of 50) counts as tbptt-200-200 where nothing else does.
        """
        rows = [row for name in _RECOVERIES for row in self.table(name)]
        rows += [row | {"learner": row["beside"]} for row in rows if "beside" in row]
        return _preferred_rows(rows, "recovery", "percent", "learner")

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """The gaps on recordings (pp, full RTRL minus d=0); see `_preferred_rows`."""
        rows = [row for name in _GAPS for row in self.table(name)]
        return _preferred_rows(rows, "gap", "pp").drop(columns="paper_learning_rate")


def stand_in_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row as it is for each instance of the study that stands for the paper's."""
    ours = row.get("ours", {})
    return [row | instance for instance in (ours if isinstance(ours, list) else [ours])]


def _rows_by_condition(entry: dict[str, Any], file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row, or one for each condition of ``across`` that the entry has a value for."""
    entry = entry | {key: value for key, value in entry.get("also", {}).items() if key != "quote"}
    entry.pop("also", None)
    common_columns = {"place": file.get("place")} | file.get("common", {})
    single = ("quote", "ours")
    lists = [key for key, value in entry.items() if isinstance(value, list) and key not in single]
    if "across" not in file or not lists:
        yield _without_nulls(common_columns | entry)
        return
    for column, condition in enumerate(file["across"]):
        cells = _without_nulls({key: entry[key][column] for key in lists})
        if cells:
            alike = {key: value for key, value in entry.items() if key not in lists}
            yield _without_nulls(common_columns | condition | alike | cells)


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


def _preferred_rows(rows: list[dict[str, Any]], name: str, unit: str, *more: str) -> pd.DataFrame:
    """One number a condition: the first by `_PREFERENCE`, in the column paper_NAME_UNIT.

    Beside it its words, its interval, the rate that the paper calls best, the configuration that it
    was measured with, and its place; what the paper does not print is missing.
    """
    keys = [*more, "optimizer", "architecture", "split"]
    columns = {f"{name}_{unit}": f"paper_{name}_{unit}", f"{name}_text": "paper_text"}
    columns |= {f"{end}_{unit}": f"paper_{end}" for end in ("low", "high")}
    columns |= {n: f"paper_{n}" for n in ("configuration", "place", "learning_rate")}
    frame = pd.DataFrame(rows).reindex(columns=["task", *keys, *columns])
    frame = frame[(frame["task"] == "recordings") & frame[list(columns)[:2]].notna().any(axis=1)]
    tables = []
    for precision, order in _PREFERENCE.items():
        table = frame[frame["configuration"].isin(order)].dropna(subset=keys)
        table = table.sort_values("configuration", key=lambda c: c.map(order.index), kind="stable")
        tables.append(table.drop_duplicates(keys).assign(precision=precision))
    return pd.concat(tables)[[*keys, "precision", *columns]].rename(columns=columns)


@cache
def load() -> Paper:
    """Read the paper's numbers from the package."""
    documents = {
        file.name.removesuffix(".yaml"): parse_yaml(file.read_text(encoding="utf-8"), file.name)
        for file in sorted(files(__package__).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".yaml")
    }
    return Paper(documents.pop("paper") | documents)
