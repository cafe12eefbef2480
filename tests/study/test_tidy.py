"""The long table of a condition, and the wide tables that are read of several."""

import numpy as np
import pandas as pd
import pytest

from orla.study import tidy
from orla.study.tidy import Rows

KEYS = {"task": "sine", "learner": "rtrl", "loss": "squared_error"}
AT = np.arange(2), np.array([[0.1], [0.3]])
ERROR = np.array([[1.0, 2.0], [3.0, np.nan]])


@pytest.fixture
def table():
    return tidy.long_table(
        KEYS,
        [
            Rows("diverged", *AT, np.isnan(ERROR)),
            Rows("error", *AT, ERROR),
            Rows("selected", *AT, np.array([[True, True], [False, False]])),
            Rows("bytes", 1, 0.1, np.array(8), "exact", "rtrl"),
            Rows("edge", np.array([0, 1]), 0.3, np.array([True, False]), horizon=40),
            Rows("spectrum", 1, 0.1, np.array([0.5, 0.25]), index=np.arange(2)),
        ],
    )


def test_a_row_is_one_number_of_a_model(table):
    assert list(table) == [*KEYS, *tidy.LONG] and len(table) == 4 * 3 + 1 + 2 + 2
    assert table["type"].value_counts().to_dict() == {"bool": 10, "float": 6, "int": 1}
    rows = table.query("measure == 'error' and seed == 0 and learning_rate == 0.3")
    [row] = rows.to_dict("records")
    assert row["value"] == 3.0 and row["observer"] == "" and pd.isna(row["horizon"])


def test_wide_tables_have_a_column_a_measure_and_its_type(table):
    frames = tidy.wide_tables([table])
    models = frames["models"]
    assert list(models) == [*KEYS, "seed", "learning_rate", "diverged", "error", "selected"]
    assert models[["seed", "learning_rate"]].to_numpy().tolist() == [
        [0, 0.1], [1, 0.1], [0, 0.3], [1, 0.3],
    ]  # fmt: skip
    np.testing.assert_array_equal(models["error"], ERROR.ravel())
    assert models["diverged"].tolist() == [False, False, False, True]
    assert models["diverged"].dtype == bool and models["seed"].dtype == "int64"
    keys = {"task": "sine", "learner": "rtrl"}
    assert frames["alignment"].to_dict("records") == [
        keys | {"seed": 1, "learning_rate": 0.1, "observer": "exact", "against": "rtrl", "bytes": 8}
    ]
    assert frames["horizon"].drop(columns=list(keys)).to_dict("list") == {
        "seed": [0, 1], "learning_rate": [0.3] * 2, "horizon_steps": [40] * 2, "edge": [True, False]
    }  # fmt: skip
    assert frames["profile"].drop(columns=list(keys)).to_dict("list") == {
        "seed": [1, 1], "learning_rate": [0.1] * 2, "quantity": ["spectrum"] * 2,
        "index": [0, 1], "value": [0.5, 0.25],
    }  # fmt: skip


def test_what_a_condition_does_not_measure_is_null(table):
    other = tidy.long_table(KEYS | {"learner": "a"}, [Rows("norm", 0, 0.1, np.array(2.0))])
    models = tidy.wide_tables([table, other])["models"]
    assert models["learner"].tolist() == ["rtrl"] * 4 + ["a"] and models["learner"].dtype == "str"
    assert models["norm"].tolist()[4] == 2.0 and models["norm"].isna().sum() == 4
    assert models["error"].isna().tolist() == [False, False, False, True, True]


def test_a_condition_without_horizons_observers_or_profiles_has_empty_tables():
    alone = tidy.wide_tables([tidy.long_table(KEYS, [Rows("norm", 0, 0.1, np.array(2.0))])])
    lengths = {name: len(frame) for name, frame in alone.items()}
    assert lengths == {"models": 1, "horizon": 0, "alignment": 0, "profile": 0}
    assert list(alone["profile"])[-3:] == ["quantity", "index", "value"]


def test_traces_are_of_selected_models_each_beside_its_own_frozen_network(table):
    other = tidy.long_table(KEYS | {"learner": "a"}, [Rows("selected", 0, 0.1, np.array([True]))])
    models = tidy.wide_tables([table, other])["models"]
    frozen = np.array([[10.0, 11.0], [20.0, 21.0]])
    first = {"error": np.arange(8.0).reshape(4, 2), "frozen_error": frozen, "step": [200, 400]}
    second = {"error": np.array([[9.0]]), "frozen_error": frozen[:, :1], "step": [5]}
    rows = tidy.error_trace_table(models, [first, second])
    assert list(rows) == ["task", "learner", "seed", "step", "error", "frozen_error"]
    assert rows[["seed", "step", "error", "frozen_error"]].to_numpy().tolist() == [
        [0, 200, 0.0, 10.0],
        [0, 400, 1.0, 11.0],
        [1, 200, 2.0, 20.0],
        [1, 400, 3.0, 21.0],
        [0, 5, 9.0, 10.0],
    ]
    assert rows["learner"].tolist() == ["rtrl"] * 4 + ["a"]
