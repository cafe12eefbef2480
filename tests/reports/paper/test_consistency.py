"""Numbers of the paper that follow from others of it: a wrong row or column breaks them."""

from pathlib import Path

import pytest

from orla.reports.paper import load


def by(name, *keys):
    rows = load().table(name)
    return {tuple(row[key] for key in keys): row for row in rows}


def test_headline_is_consistent():
    headline = load().headline
    gap = headline["recovery_full_percent"] - headline["recovery_immediate_percent"]
    assert gap == pytest.approx(headline["gap_pp"])
    assert abs(headline["gap_pp"]) < headline["delta_star_pp"] < headline["margin_pp"]


def test_every_estimate_lies_in_its_interval():
    checked = 0
    for name in load().tables:
        for row in load().table(name):
            for estimate, low, high in (
                ("recovery_percent", "low_percent", "high_percent"),
                ("gap_pp", "low_pp", "high_pp"),
                ("cosine", "low", "high"),
                ("value", "low", "high"),
                ("spearman", "low", "high"),
            ):
                if estimate in row and low in row:
                    assert row[low] <= row[estimate] <= row[high], row
                    checked += 1
    assert checked == 8 + 4 + 2 + 3 + 5 + 10 + 4 + 1


@pytest.mark.parametrize(("hidden", "architecture", "mse"), [(64, "rnn", 0.67), (64, "lstm", 0.78)])
def test_denominators_follow_from_benefit_and_gap(hidden, architecture, mse):
    row = by("capacity", "architecture", "hidden")[architecture, hidden]
    assert 100 * row["benefit_mse"] / row["gap_pp"] == pytest.approx(mse, abs=0.005)


def test_table_5_has_another_denominator_than_table_15():
    """The arithmetic of docs/protocol.md, "What counts as 100 in Table 5"."""
    rows = [row for row in load().table("optimizers") if row["task"] == "recordings"]
    recovery = {row["optimizer"]: row["adapt_recovery_percent"] / 100 for row in rows}
    errors = [row for row in load().table("windows") if row["task"] == "recordings"]
    [adam] = [r["mse"] for r in errors if r.get("optimizer") == "adam" and r["window"] == 1]
    capacity = by("capacity", "architecture", "hidden")["rnn", 64]
    denominator = round(100 * capacity["benefit_mse"] / capacity["gap_pp"], 2)
    apart = recovery["adafactor"] - recovery["adam"]
    told = {
        "error": f"-{abs(adam - apart * denominator):.3f}, which no squared error",
        "most": f"at most\n{adam / apart:.3f}",
        "apart": f"errors {apart * denominator:.3f} apart",
        "share": f"at most {100 * adam / apart / denominator:.0f} % of what",
    }
    text = (Path(__file__).parents[3] / "docs/protocol.md").read_text(encoding="utf-8")
    assert {name: part in text for name, part in told.items()} == dict.fromkeys(told, True)
    assert adam - apart * denominator < 0


def test_gaps_are_full_minus_immediate():
    for row in load().table("capacity"):
        difference = row["recovery_full_percent"] - row["recovery_immediate_percent"]
        assert row["gap_pp"] == pytest.approx(difference, abs=0.001)
    cells = load().table("headtohead")
    for split, gap in (("50-50", -0.3), ("80-20", 8.6)):
        found = {
            row["learner"]: row
            for row in cells
            if row.get("split") == split and row.get("optimizer") == "adam"
        }
        full, immediate = found["tbptt-200-200"], found["immediate"]
        assert full["recovery_percent"] - immediate["recovery_percent"] == pytest.approx(gap)
        assert full["gap_pp"] == gap


def test_the_pilots_gaps_follow_from_its_recoveries():
    recovery = by("heldout", "learner", "optimizer")
    for name in ("precision_grid", "precision_best"):
        rows = [row for row in load().table(name) if row["configuration"] == "pilot-f32"]
        assert len(rows) == (3 if name == "precision_grid" else 4)
        for row in rows:
            full, immediate = (
                recovery[row[key], row["optimizer"]]["recovery_percent"]
                for key in ("learner_full", "learner_immediate")
            )
            assert row["gap_pp"] == pytest.approx(full - immediate, abs=0.11)


def test_two_gaps_at_kaggles_rates_stand_in_both_tables():
    fixed = by("precision_grid", "optimizer", "configuration")
    best = by("precision_best", "optimizer", "configuration")
    for optimizer, configuration in (
        ("adam", "kaggle-f64"),
        ("adam", "kaggle-f64-avx2"),
        ("lars", "kaggle-f64-avx2"),
    ):
        there = fixed[optimizer, f"{configuration}-fixed"]["gap_pp"]
        assert best[optimizer, configuration]["gap_pp"] == there


def test_the_range_of_table_7_is_that_of_its_row():
    for optimizer in ("adam", "adafactor", "lars"):
        for precision in ("float32", "float64"):
            rows = [
                row
                for row in load().table("precision_grid")
                if (row["optimizer"], row["precision"]) == (optimizer, precision)
            ]
            gaps = [row["gap_pp"] for row in rows]
            assert len(gaps) == 3
            assert rows[0]["range_low_pp"] == pytest.approx(min(gaps), abs=0.8)
            assert rows[0]["range_high_pp"] == pytest.approx(max(gaps), abs=0.5)


def test_concentrations_differ_by_their_gap():
    rows = [row for name in ("structure", "lstm_structure") for row in load().table(name)]
    rows = [row for row in rows if "top1_gap" in row]
    assert len(rows) == 6
    for row in rows:
        assert row["top1_gap"] == pytest.approx(row["top1_past"] - row["top1_immediate"], abs=0.005)


def test_ratios_of_errors_are_immediate_over_full():
    mse = by("delays", "architecture", "delay_steps", "learner")
    rows = [row for row in mse.values() if "mse_ratio" in row and row["learner"] == "rtrl"]
    assert len(rows) == 4
    for row in rows:
        immediate = mse[row["architecture"], row["delay_steps"], "immediate"]["mse"]
        assert row["mse_ratio"] == pytest.approx(immediate / row["mse"], abs=0.05)


def test_ratios_of_errors_are_over_a_window_of_1():
    mse = by("windows", "task", "window")
    for (task, _), row in mse.items():
        first = next(other for key, other in mse.items() if key == (task, 1))
        assert row["mse_ratio"] == pytest.approx(row["mse"] / first["mse"], rel=0.16)


def test_the_rnns_past_dominates_four_times_as_much_as_the_lstms():
    rows = load().table("dominance")
    for optimizer in ("signsgd", "sgd"):
        found = {
            row.get("architecture"): row["value"]
            for row in rows
            if row["optimizer"] == optimizer and row["metric"].startswith("median")
        }
        assert found["rnn"] / found["lstm"] == pytest.approx(found[None], abs=0.02)
