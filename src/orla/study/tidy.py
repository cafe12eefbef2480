"""The long table of a sweep, a row a measure of a model, and the wide tables made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import union_categoricals

CONSTANT = ("loss",)
"""Columns beside the keys that hold one text for a whole condition."""

LONG = {
    "seed": "Seed of the network: 0, 1, 2, ...",
    "learning_rate": "Learning rate.",
    "measure": "Name of what is measured, a column of the wide tables.",
    "observer": "Learner whose gradient it is of; empty where it is of the model.",
    "against": "Learner whose gradient that one is compared with; empty likewise.",
    "horizon": "Steps that the model adapted for; null for the whole adapt part.",
    "index": "Place in a profile, from 0; null for a single number.",
    "type": "Whether the value is a float, an int or a bool.",
    "value": "The value, in the measure's unit.",
}
"""Column of a long table -> what it holds, after the keys and the loss."""


NONE = -1  # of a horizon or index that there is not, before it is null
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}


class Rows(NamedTuple):
    """Rows of one measure: numbers, or arrays that are broadcast against each other; see `LONG`."""

    measure: str
    seed: ArrayLike
    learning_rate: ArrayLike
    value: ArrayLike
    observer: str = ""
    against: str = ""
    horizon: ArrayLike = NONE
    index: ArrayLike = NONE


def long_table(keys: Mapping[str, str], blocks: Iterable[Rows]) -> pd.DataFrame:
    """The rows as one table: the keys, then the columns `LONG`."""
    blocks, numbers = list(blocks), ("seed", "learning_rate", "value", "horizon", "index")
    arrays = [np.broadcast_arrays(*(getattr(b, name) for name in numbers)) for b in blocks]
    lengths = [group[0].size for group in arrays]
    columns: dict[str, Any] = {
        name: np.concatenate([np.ravel(group[i]).astype(kind) for group in arrays])
        for i, (name, kind) in enumerate(zip(numbers, ("i8", "f8", "f8", "i8", "i8"), strict=True))
    }
    for name in ("horizon", "index"):
        columns[name] = pd.arrays.IntegerArray(columns[name], columns[name] == NONE)

    def text(values: Iterable[str]) -> pd.Categorical:
        categories = pd.Categorical(pd.array(list(values), dtype="str"))
        return pd.Categorical.from_codes(
            np.repeat(categories.codes, lengths), dtype=categories.dtype
        )

    columns |= {name: text([value] * len(blocks)) for name, value in keys.items()}
    columns |= {n: text(getattr(b, n) for b in blocks) for n in ("measure", "observer", "against")}
    columns["type"] = text(_KINDS[np.asarray(block.value).dtype.kind] for block in blocks)
    return pd.DataFrame({name: columns[name] for name in (*keys, *LONG)})


def wide_tables(tables: Iterable[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The wide tables of some long ones, rows in their order.

    "models": a row a model; "horizon": a row a seed and horizon, at the rate chosen within it;
    "alignment": a row a model and gradient; "profile": a row a place in a profile. A measure that a
    condition lacks is null there.
    """
    long = concatenate(tables)
    keys = [name for name in long if name not in LONG]
    model = [*(name for name in keys if name not in CONSTANT), "seed", "learning_rate"]
    of_observer, at_horizon = long["observer"] != "", long["horizon"].notna()
    in_profile = long["index"].notna()
    profile = long[in_profile].rename(columns={"measure": "quantity"}).astype({"index": "int64"})
    horizon = _pivot(long[at_horizon], [*model, "horizon"])
    return {
        "models": _pivot(long[~(of_observer | at_horizon | in_profile)], [*keys, *model[-2:]]),
        "horizon": horizon.rename(columns={"horizon": "horizon_steps"}),
        "alignment": _pivot(long[of_observer], [*model, "observer", "against"]),
        "profile": _as_text(profile[[*model, "quantity", "index", "value"]]),
    }


def error_trace_table(
    models: pd.DataFrame, arrays: Iterable[Mapping[str, np.ndarray]]
) -> pd.DataFrame:
    """Errors in windows along the adapt part, of the models at the selected rate.

    `models` is of `wide_tables`, `arrays` the traces of each condition (`sweep.Sweep`) in the same
    order. A row is a model and window: the keys, seed, step (the window's last, counted from 1),
    error, frozen_error.
    """
    is_selected, seed = (models[name].to_numpy() for name in ("selected", "seed"))
    rows, columns, first = [np.empty(0, int)], {n: [] for n in ("step", "error", "frozen_error")}, 0
    for trace in arrays:
        places = np.flatnonzero(is_selected[first : first + len(trace["error"])])
        rows.append(np.repeat(first + places, len(trace["step"])))
        columns["step"].append(np.tile(trace["step"], len(places)))
        columns["error"].append(trace["error"][places].ravel())
        columns["frozen_error"].append(trace["frozen_error"][seed[first + places]].ravel())
        first += len(trace["error"])
    keys = list(models)[: list(models).index("learning_rate")]
    keys = [name for name in keys if name not in CONSTANT]
    table = models[keys].iloc[np.concatenate(rows)].reset_index(drop=True)
    return table.assign(**{name: np.concatenate(pieces) for name, pieces in columns.items()})


def concatenate(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Long tables, one after the other; their texts stay categorical."""
    tables = list(tables)

    def join(name: str) -> pd.Series | pd.Categorical:
        parts = [table[name] for table in tables]
        categorical = isinstance(parts[0].dtype, pd.CategoricalDtype)
        return union_categoricals(parts) if categorical else pd.concat(parts, ignore_index=True)

    return pd.DataFrame({name: join(name) for name in tables[0]})


def _pivot(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """A row for each distinct value of `by`, in their first order; a column for each measure."""
    number = rows.groupby(by, sort=False, observed=True).ngroup().to_numpy()
    first = np.unique(number, return_index=True)[1]
    place, names = pd.factorize(rows["measure"])
    values = np.full((len(first), len(names)), np.nan)
    values[number, place] = rows["value"]
    kinds = rows["type"].iloc[np.unique(place, return_index=True)[1]]
    columns = {
        name: column if np.isnan(column).any() else column.astype(kind)
        for name, column, kind in zip(names, values.T, kinds, strict=True)
    }
    head = _as_text(rows[by].iloc[first])
    if "horizon" in head:
        head = head.astype({"horizon": "int64"})
    return pd.concat([head, pd.DataFrame(columns)], axis=1)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """The table with texts in place of categories, rows numbered from 0."""
    texts = dict.fromkeys(table.select_dtypes("category"), "str")
    return table.astype(texts).reset_index(drop=True)
