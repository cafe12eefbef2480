"""What the reports ask the paper for, and numbers of it that follow from others of it."""

from pathlib import Path

import pytest

from orla.errors import OrlaError
from orla.reports.paper import load
from orla.reports.study import where

ROOT = Path(__file__).parents[3]
ROWS = [row for name in load().tables for row in load().table(name)]


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


def test_rows_of_the_text_are_found_by_columns_and_values():
    [row] = load().rows_in_text("shortfall_pp", "recovery_full_percent", shortfall_pp=5.2)
    assert row["recovery_full_percent"] == 25.4
    assert not load().rows_in_text("shortfall_pp", shortfall_pp=-1) and not load().rows_in_text(
        "nothing"
    )


def test_the_pilots_full_rtrl_has_a_window_of_50():
    full = [row for row in load().table("heldout") if row["learner"] != "immediate"]
    assert [row["learner"] for row in full] == ["tbptt-50-50"] * 4
    gaps = load().table("precision_grid") + load().table("precision_best")
    pilot = [row for row in gaps if row["configuration"] == "pilot-f32"]
    assert {(r["comparison"], r["learner_full"]) for r in pilot} == {("pilot", "tbptt-50-50")}
    best = [row for row in load().table("precision_best") if row["comparison"] == "paper"]
    assert {row["learner_full"] for row in best} == {"tbptt-200-200"}


@pytest.mark.parametrize(
    ("name", "message"),
    [("held-out", 'no table "held-out"; the nearest is "heldout"'), ("claims", '"claims"')],
)
def test_an_unknown_table_is_refused_with_the_nearest(name, message):
    with pytest.raises(OrlaError, match=message):
        load().table(name)


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        (("immediate", "adam", "float64", "80-20"), [41.7]),
        (("immediate", "adam", "float32", "80-20"), [44.9]),
        (("tbptt-200-200", "sgd", "float64", "80-20"), [30.9]),  # the pilot's
        (("rtrl", "adam", "float64", "80-20"), []),
        (("immediate-200", "adam", "float64", "80-20"), []),
        (("immediate", "sgd", "float64", "50-50"), []),
        (("immediate", "adam", "bfloat16", "80-20"), []),
    ],
)
def test_float64_goes_before_the_pilot_and_nothing_stands_for_a_lacking_number(condition, numbers):
    keys = zip(("learner", "optimizer", "precision", "split"), condition, strict=True)
    rows = where(load().heldout_recoveries, architecture="rnn", **dict(keys))
    assert rows["paper_recovery_percent"].tolist() == numbers
    pilot = numbers == [30.9] or condition[2] == "float32"
    assert set(rows["paper_configuration"].eq("pilot-f32")) <= {pilot}


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
    for column, known in words.items():
        found = {row[column] for row in ROWS if column in row}
        assert found and found <= known, column


def test_every_estimate_lies_in_its_interval():
    ends = {"recovery_percent": "{}_percent", "gap_pp": "{}_pp"}
    ends |= dict.fromkeys(("cosine", "value", "spearman"), "{}")
    checked = 0
    for row in ROWS:
        for estimate, end in ends.items():
            if estimate in row and end.format("low") in row:
                low, high = (row[end.format(name)] for name in ("low", "high"))
                assert low <= row[estimate] <= high, row
                checked += 1
    assert checked == 8 + 4 + 2 + 3 + 5 + 10 + 4 + 1


def test_protocol_states_the_denominator_of_table_5_that_its_rows_imply():
    """The arithmetic of docs/protocol.md, "What counts as 100 in Table 5"."""
    rows = [row for row in load().table("optimizers") if row["task"] == "recordings"]
    recovery = {row["optimizer"]: row["adapt_recovery_percent"] / 100 for row in rows}
    errors = [row for row in load().table("windows") if row["task"] == "recordings"]
    [adam] = [r["mse"] for r in errors if r.get("optimizer") == "adam" and r["window"] == 1]
    rnn = {"architecture": "rnn", "hidden": 64}
    [capacity] = [row for row in load().table("capacity") if rnn.items() <= row.items()]
    denominator = round(100 * capacity["benefit_mse"] / capacity["gap_pp"], 2)
    apart = recovery["adafactor"] - recovery["adam"]
    told = (
        f"-{abs(adam - apart * denominator):.3f}, which no squared error",
        f"at most\n{adam / apart:.3f}",
        f"errors {apart * denominator:.3f} apart",
        f"at most {100 * adam / apart / denominator:.0f} % of what",
    )
    text = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    assert [part for part in told if part not in text] == []
    assert adam - apart * denominator < 0
