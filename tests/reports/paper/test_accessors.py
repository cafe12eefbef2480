"""What the reports ask the paper for."""

from pathlib import Path

import pytest

from orla.errors import OrlaError
from orla.reports.paper import load
from orla.reports.study import where

ROOT = Path(__file__).parents[3]


def row_of(name, **wanted):
    found = [row for row in load().table(name) if wanted.items() <= row.items()]
    assert len(found) == 1
    return found[0]


def test_a_row_of_the_table_becomes_one_row_a_condition():
    rows = [row for row in load().table("decay_grid") if row["optimizer"] == "adam"]
    assert [(row["learner"], row["decay"], row["recovery_percent"]) for row in rows] == [
        ("immediate", 0.0, 100.0),
        ("trace-01", 0.1, 99.3),
        ("trace-05", 0.5, 100.2),
        ("trace-095", 0.95, 90.2),
    ]
    assert {row["place"] for row in rows} == {"Table 9 (tab:decay_grid)"}
    assert all(row["task"] == "sine" and "quote" in row for row in rows)


GAPS, RECORDINGS = "precision_best", "recordings"


@pytest.mark.parametrize(
    ("table", "wanted", "column", "number"),
    [
        (GAPS, {"optimizer": "adam", "configuration": "kaggle-f64"}, "gap_pp", -6.05),
        (GAPS, {"optimizer": "adam", "configuration": "kaggle-f64-avx2"}, "gap_pp", -2.47),
        (GAPS, {"optimizer": "adam", "configuration": "pilot-f32"}, "gap_pp", 7.1),
        *(
            ("optimizers", {"optimizer": name, "task": RECORDINGS}, "adapt_recovery_percent", n)
            for name, n in (("adam", 61), ("sgd", 160), ("lars", 123), ("adafactor", 201))
        ),
        ("capacity", {"architecture": "rnn"}, "gap_pp", 17.76),
        ("text", {"configuration": "kaggle-f64-coarse"}, "recovery_percent", 30.0),
        ("text", {"shortfall_pp": 5.2}, "recovery_full_percent", 25.4),
    ],
)
def test_numbers_stand_in_their_rows(table, wanted, column, number):
    assert row_of(table, **wanted)[column] == number


def test_the_pilots_full_rtrl_has_a_window_of_50():
    full = [row for row in load().table("heldout") if row["learner"] != "immediate"]
    assert [row["learner"] for row in full] == ["tbptt-50-50"] * 4
    for name in ("precision_grid", "precision_best"):
        pilot = [row for row in load().table(name) if row["configuration"] == "pilot-f32"]
        assert {(row["comparison"], row["learner_full"]) for row in pilot} == {
            ("pilot", "tbptt-50-50")
        }
    assert all(
        row["learner_full"] == "tbptt-200-200"
        for row in load().table("precision_best")
        if row["comparison"] == "paper"
    )


def test_an_unknown_table_is_refused_with_the_nearest():
    with pytest.raises(OrlaError, match='no table "held-out"; the nearest is "heldout"'):
        load().table("held-out")
    with pytest.raises(OrlaError, match='"claims"'):
        load().table("claims")


def recoveries(*condition):
    keys = zip(("learner", "optimizer", "precision", "split"), condition, strict=True)
    return where(load().recoveries, architecture="rnn", **dict(keys))


def test_float64_goes_before_the_pilot():
    of = ("immediate", "adam")
    numbers = {p: recoveries(*of, p, "80-20") for p in ("float64", "float32")}
    assert numbers["float64"]["paper_recovery_percent"].item() == 41.7
    assert numbers["float32"]["paper_recovery_percent"].item() == 44.9
    sgd = recoveries("tbptt-200-200", "sgd", "float64", "80-20")
    shown = sgd[["paper_recovery_percent", "paper_configuration"]].to_numpy().tolist()
    assert shown == [[30.9, "pilot-f32"]]


@pytest.mark.parametrize(
    "condition",
    [
        ("rtrl", "adam", "float64", "80-20"),
        ("immediate-200", "adam", "float64", "80-20"),
        ("immediate", "sgd", "float64", "50-50"),
        ("immediate", "adam", "bfloat16", "80-20"),
    ],
)
def test_no_number_where_the_paper_has_none(condition):
    assert recoveries(*condition).empty


def test_claims_name_the_registrations_that_exist():
    registered = {path.stem for path in (ROOT / "prereg").glob("*.yaml")}
    ours = {name for name in registered if name.startswith("many-arrays-")}
    assert set(load().registrations) == registered - ours


def test_rows_use_the_words_of_our_results():
    words = {
        "precision": {"float64", "float32"},
        "split": {"50-50", "80-20", "stationary"},
        "comparison": {"paper", "pilot"},
        "configuration": set(load().document["configurations"]),
        "optimizer": {
            *("sgd", "adam", "lars", "adafactor", "rmsprop"),
            *("signsgd", "signsgd-momentum", "gradnorm"),
        },
    }
    rows = [row for name in load().tables for row in load().table(name)]
    for column, known in words.items():
        found = {row[column] for row in rows if column in row}
        assert found and found <= known, column
