"""Each number stands in its own cell: every cell of a row has a number of its own.

The functions that declare cells are held to texts written by hand, and to lines that lack a number.
"""

import re
from dataclasses import replace

import pandas as pd
import pytest
from report_results import build

from orla.reports.cells import Line, called, counted, ends, mean, mean_seeds, value
from orla.reports.comparison import Mean
from orla.reports.numbers import rate
from orla.reports.paper import load
from orla.reports.study import Comparison, in_paper
from orla.results.baselines import Baselines

KEYS = {
    "task": "recordings",
    "pair": "default",
    "architecture": "rnn",
    "precision": "float64",
    "split": "80-20",
    "intervention": "none",
    "start": "pretrained",
}
CONDITION = {
    "learner": "immediate",
    "optimizer": "adam",
    "learning_rate": 2e-3,
    "edge": False,
    "n_seeds": 7,
    "n_diverged": 3,
    "recovery_percent": 11.1,
    "low_percent": 0.1,
    "high_percent": 99.9,
    "t95_low_percent": 10.2,
    "over_best_percent": 9.9,
    "t95_high_percent": 12.3,
    "adapt_recovery_percent": 21.4,
    "adapt_low_percent": 20.5,
    "adapt_high_percent": 22.6,
    "r2_mean": 0.37,
    "r2_weighted": 0.48,
    "update_ratio": 5.9,
    "unreliable": False,
}
MODEL = {"frozen_heldout_error": 1.13, "reference_error": 0.57, "updates": 4321}
MODEL |= {"constant_error": 1.2}
GAP = {
    "optimizer": "sgd",
    "estimand": "heldout",
    "n_seeds": 6,
    "n_diverged": 0,
    "gap_pp": -4.1,
    "low_pp": -5.2,
    "high_pp": -3.3,
    "t95_low_pp": -5.5,
    "t95_high_pp": -2.7,
    "r2_gap": 0.021,
    "error_gap": -0.034,
    "guards": "",
}
PRICE = {
    "learner": "rtrl",
    "optimizer": "lars",
    "recovery_validation_selected_percent": 31.1,
    "recovery_test_selected_percent": 38.2,
    "price_pp": 7.3,
    "low_pp": 6.4,
    "high_pp": 8.5,
    "learning_rate": 3e-3,
    "learning_rate_test": 1e-2,
    "recovery_tail_selected_percent": 29.2,
    "learning_rate_tail": 1e-3,
    "learning_rate_runner_up": 3e-2,
    "other_rate_share": 0.13,
    "n_seeds": 9,
}
VERDICT = {
    "registration": "lars-advantage",
    "title": "one title",
    "outcome": "falsified",
    "reason": "it lies outside. What it means.",
    "estimate": 1.11,
    "low": -2.22,
    "high": 3.33,
    "threshold": "at least 10",
    "n": 8,
    "registered_on": "2026-11-20",
    "amended": False,
    "lock_sha256": "3f",
}


def frame(*rows):
    return pd.DataFrame([{**KEYS, **row} for row in rows])


def ours(table, n=1):
    """The rows of the first panel that were run."""
    rows = [row for row in table.panels[0].rows if "not run" not in row]
    return rows[0] if n == 1 else rows


def heads(table):
    return [": ".join(filter(None, (c.group, c.header))) for c in table.columns]


# A study without refitted decoders.
NO_BASELINES = pd.DataFrame(columns=list(Baselines.columns))


def heldout(study, **changed):
    condition = {**CONDITION, **changed}
    model = {**MODEL, **{key: condition[key] for key in ("learner", "optimizer")}, "seed": 0}
    for key in changed.keys() & (KEYS.keys() | MODEL.keys()):
        model[key] = changed[key]
    condition = {key: value for key, value in condition.items() if key not in MODEL}
    results = {"conditions": frame(condition), "heldout": frame(model)}
    return build("heldout", results | {"baselines": NO_BASELINES}, study)


def test_the_csv_of_held_out_recovery_has_the_networks_mean_errors(simulated):
    models = [{**MODEL, "learner": "immediate", "optimizer": "adam", "seed": n} for n in range(3)]
    errors = zip((1.0, 1.1, 1.5), (0.3, 0.4, 0.8), strict=True)
    for model, (frozen, reference) in zip(models, errors, strict=True):
        model |= {"frozen_heldout_error": frozen, "reference_error": reference}
    results = {"conditions": frame(CONDITION), "heldout": frame(*models)}
    results |= {"baselines": NO_BASELINES}
    data = build("heldout", results, simulated).data.query("run").iloc[0]
    assert data["frozen_heldout_error"] == pytest.approx(1.2)
    assert data["reference_error"] == pytest.approx(0.5)


def test_a_frozen_network_below_the_best_constant_leaves_recovery_and_shows_the_other(simulated):
    table = heldout(simulated, constant_error=1.0)
    assert ours(table)[heads(table).index("Held-out: Recovery (%)")].endswith("\nover best 9.9")
    assert "over best" not in " ".join(ours(heldout(simulated)))


def test_an_edge_that_is_not_known_is_not_marked(simulated):
    assert ours(heldout(simulated, edge=True))[1] == "2×10⁻³*"
    assert ours(heldout(simulated, edge=float("nan")))[1] == "2×10⁻³"


def test_errors_are_means_over_networks_and_steps_those_of_the_finest_cadence(simulated):
    rows = [("immediate", 0, 1.0, 0.2, 4321), ("immediate", 1, 1.5, 0.3, 4321),
            ("tbptt-200-200", 0, 1.0, 0.2, 21)]  # fmt: skip
    names = ("learner", "seed", "frozen_heldout_error", "reference_error", "updates")
    beside = {"optimizer": "adam", "constant_error": 2.0}
    models = [beside | dict(zip(names, row, strict=True)) for row in rows]
    results = {"conditions": frame(CONDITION), "heldout": frame(*models)}
    table = build("heldout", results | {"baselines": NO_BASELINES}, simulated)
    note = "held-out error (MSE) 1.25 frozen, 0.25 reference, 4,321 steps adapted to."
    assert [n for n in table.notes if "MSE" in n] == [f"RNN, float64, 80/20: {note}"]


def test_few_updates_are_marked(simulated):
    table = heldout(simulated, learner="tbptt-200-200", updates=2)
    title = next(p.title for p in table.panels if "TBPTT-200" in p.title)
    assert title.endswith("(2 updates§)") and any(n.startswith("§") for n in table.notes)
    assert any("400 steps adapted to" in note for note in table.notes)
    assert not any(note.startswith("§") for note in heldout(simulated).notes)
    titles = [heldout(simulated, updates=n).panels[0].title for n in (19, 20)]
    assert [title.split(": ")[1] for title in titles] == [
        "immediate, per step (19 updates§)",
        "immediate, per step (20 updates)",
    ]


def gaps(study, *rows):
    return build("bci_gap", {"estimates": frame(*rows)}, study)


def test_bci_gap_counts_the_seeds_of_the_least_and_the_fullest_comparison(simulated):
    counts = {"per_step": 5, "per_window": 9, "paper": 7}
    rows = [{**GAP, "comparison": name, "n_seeds": n} for name, n in counts.items()]
    assert ours(gaps(simulated, *rows))[1] == "5–9"
    assert ours(gaps(simulated, rows[2]))[1] == "7"


def test_the_papers_gap_is_that_of_the_rows_precision(simulated):
    row = {**GAP, "comparison": "paper", "optimizer": "adafactor"}
    assert ours(gaps(simulated, {**row, "precision": "float32"}))[3] == "+5.3"
    assert "−6.7" in ours(gaps(simulated, row))[3]


def test_the_papers_gap_stands_beside_networks_frozen_at_the_end_alone(simulated):
    row = {**GAP, "comparison": "paper"}
    table = gaps(simulated, row, {**row, "estimand": "adapt"}, {**row, "estimand": "stable"})
    shown = {p.title.split(": ")[1]: {r[0]: r for r in p.rows}["SGD"][3] for p in table.panels}
    assert shown == {
        "mean of the last ten freezing points": "–",
        "frozen once, at the end": "−9.9\n[−16.4,\u00a0−3.5]",
        "over the adapt part, while learning": "–",
    }


def test_bci_gap_of_an_lstm_has_not_the_rnns_paper_gap(simulated):
    row = {**GAP, "comparison": "paper"}
    table = gaps(simulated, row, {**row, "architecture": "lstm"})
    shown = {
        panel.title[:4]: next(r for r in panel.rows if r[0] == "SGD") for panel in table.panels
    }
    assert shown["RNN,"][-1].startswith("−9.9") and shown["LSTM"][-1] == "–"


def test_own_comparisons_head_their_columns_and_take_any_window(simulated):
    own = {"mine": Comparison("short windows", "tbptt-20-20", "immediate-20")}
    study = replace(simulated, comparisons=own, main="mine")
    table = gaps(study, {**GAP, "comparison": "mine"})
    assert heads(table) == ["Optimizer", "n", "short windows"]
    assert "TBPTT-20, per 20 steps − immediate, per 20 steps" in table.caption
    assert [row[0] for row in table.panels[0].rows] == ["SGD"]  # the paper has no such gap


@pytest.mark.parametrize(
    "learners", [("tbptt-20-20", "immediate"), ("tbptt-200-200", "immediate-200")]
)
def test_the_papers_gap_stands_only_beside_its_learners(learners, simulated):
    other = {"paper": Comparison("diagonal", *learners)}
    table = gaps(replace(simulated, comparisons=other), {**GAP, "comparison": "paper"})
    assert heads(table) == ["Optimizer", "n", "diagonal"]


def test_exact_rtrls_gap_per_step_is_not_the_papers(simulated):
    table = gaps(replace(simulated, main="per_step"), {**GAP, "comparison": "per_step"})
    assert heads(table) == ["Optimizer", "n", "full − immediate: per step"]
    assert [row[0] for row in table.panels[0].rows] == ["SGD"]


def test_no_paper_column_beside_other_tasks(simulated):
    table = gaps(simulated, {**GAP, "comparison": "paper", "task": "sine"})
    assert heads(table) == ["Optimizer", "n", "the paper's diagonal"]
    table = heldout(simulated, task="sine")
    assert [len(panel.rows) for panel in table.panels] == [1]
    assert heads(table)[-1] == "Adapt: Recovery (%)" and len(ours(table)) == 6
    assert "paper_recovery_percent" in table.data


@pytest.mark.parametrize("changed", [{"intervention": "rescale"}, {"start": "fresh"}])
def test_no_paper_number_beside_other_gradients_or_starts(changed, simulated):
    panels = gaps(simulated, {**GAP, "comparison": "paper", **changed}).panels
    shown = {panel.title: panel.rows for panel in panels}
    [own] = shown.pop(f"RNN, float64, 80/20, {next(iter(changed.values()))}")
    assert own[2].startswith("−4.1") and own[3] == "–"
    assert [row[2] for rows in shown.values() for row in rows] == ["not run"] * 4
    rows = [row for p in heldout(simulated, **changed).panels for row in p.rows]
    assert [row[6:] for row in rows if row[3] != "not run"] == [("–", "–")]


def test_no_paper_column_beside_networks_of_another_size(simulated):
    study = replace(simulated, instances={"architecture": {"rnn": {"kind": "rnn", "hidden": 8}}})
    assert "paper" not in [c.header for c in gaps(study, {**GAP, "comparison": "paper"}).columns]
    assert heldout(study).panels[0].title.startswith("RNN, hidden 8, float64")


@pytest.mark.parametrize(
    ("changed", "gap"),
    [
        ({"architecture": "lstm"}, "–"),
        ({"split": "50-50"}, "within CI of 0"),
        ({"precision": "float32"}, "−7.2"),
    ],
)
def test_the_papers_ratios_stand_beside_one_condition_alone(changed, gap, simulated):
    ratio = {"update_ratio": 7.77, "update_ratio_low": 6.66, "update_ratio_high": 8.88}
    rows = frame({**GAP, **ratio}, {**GAP, **ratio, **changed})
    table = build("ratio_gap", {"ratio_gap": rows, "ratio_gap_order": rows[:0]}, simulated)
    shown = {panel.title: {row[0]: row[2::2] for row in panel.rows} for panel in table.panels}
    assert shown["RNN, float64, 80/20"]["SGD"] == ("4.30", "−10")
    [other] = shown.keys() - {"RNN, float64, 80/20"}
    assert shown[other]["SGD"] == ("–", gap)


def test_selection_price(simulated):
    table = build("selection_price", {"selection_price": frame(PRICE)}, simulated)
    assert dict(zip(heads(table), ours(table), strict=True)) == {
        "Optimizer": "LARS",
        "Rolling: Rate": "3×10⁻³",
        "Rolling: Other": "13",
        "Rolling: Recovery": "31.1",
        "One freezing: Rate": "10⁻³",
        "One freezing: Recovery": "29.2",
        "Held-out: Rate": "10⁻²",
        "Held-out: Recovery": "38.2",
        "Price (pp)": "+7.3 [6.4,\u00a08.5]",
        "n": "9",
    }


def test_verdict(simulated, recorded):
    table = build("verdict", {"verdicts": pd.DataFrame([VERDICT])}, simulated)
    assert ours(table) == (
        "one title",
        "not shown in simulation",
        "1.11 [−2.22,\u00a03.33]",
        "at least 10",
        "8",
        "+20 pp (Table 3); +25.1 pp local, +15.9 pp Kaggle",
    )
    words = "shows that the study works, not what the brain does."
    real = build("verdict", {"verdicts": pd.DataFrame([VERDICT])}, recorded)
    assert table.caption.endswith(words) and words not in real.caption


def test_rows_of_the_paper_that_were_not_run_say_so(simulated):
    table = heldout(simulated)
    rows = {
        (re.sub(r" \([\d,]+ updates\)$", "", panel.title.split(": ")[1]), row[0]): row
        for panel in table.panels
        for row in panel.rows
    }
    assert rows["last layer, per step", "SGD"] == (
        "SGD",
        "–",
        "–",
        "not run",
        "–",
        "–",
        "22.1",
        "–",
    )
    assert rows["immediate, per step", "Adam"][3].startswith("11.1")
    not_run = [key for key, row in rows.items() if row[3] == "not run"]
    number = load().recovery
    theirs = {
        (learner, optimizer)
        for learner in in_paper("learner")
        for optimizer in in_paper("optimizer")
        if number(learner, optimizer, "float64", "80-20")
    }
    assert len(not_run) == len(theirs) - 1 and len(rows) == len(theirs) > 10
    data = table.data.set_index(["learner", "optimizer"])
    assert not data.loc[("last-layer", "sgd"), "run"] and data["run"].sum() == 1
    assert data.loc[("last-layer", "sgd"), "paper_recovery_percent"] == 22.1
    assert data.loc[("immediate", "adam"), "n_seeds"] == 7  # a whole number still
    assert str(data["n_seeds"].dtype) == "Int64"


def test_no_row_is_borrowed_for_networks_and_splits_that_the_study_has_not(simulated):
    text = " ".join(panel.title for panel in heldout(simulated).panels)
    assert "LSTM" not in text and "50/50" not in text


def test_pairs_and_tasks_are_told_apart_only_where_there_are_several(simulated):
    row = {**GAP, "comparison": "paper"}
    one = gaps(simulated, row).panels
    two = gaps(simulated, row, {**row, "pair": "second", "gap_pp": 9.9}).panels
    assert [panel.title for panel in one] == ["RNN, float64, 80/20"]
    assert [panel.title for panel in two] == [
        f"{pair}, RNN, float64, 80/20" for pair in ("default", "second")
    ]
    assert [next(r for r in p.rows if r[0] == "SGD")[2][:4] for p in two] == ["−4.1", "+9.9"]


NUMBERS = {"x": -1.26, "low": -2.0, "high": 0.5, "n_seeds": 3, "n_diverged": 2, "optimizer": "sgd"}


@pytest.mark.parametrize(
    ("column", "changed", "text"),
    [
        (value("", "x"), {}, "−1.3"),
        (value("", "x", digits=2, signed=True), {"x": 1.26}, "+1.26"),
        (value("", "x", rate), {"x": 3e-4}, "3×10⁻⁴"),
        (value("", "x"), {"x": float("nan")}, "–"),
        (ends("", "x", "low", "high"), {}, "−1.3 [−2.0,\u00a00.5]"),
        (ends("", "x", "low", "high"), {"n_seeds": 1}, "−1.3"),
        (ends("", "x", "low", "high"), {"run": False}, "not run"),
        (counted(), {}, "3 (2 div.)"),
        (counted(), {"n_diverged": float("nan")}, "3"),
        (called("optimizer"), {}, "SGD"),
        (called("optimizer"), {"optimizer": ""}, "–"),
    ],
)
def test_what_a_cell_shows_of_a_row(column, changed, text, simulated):
    assert column.text(Line(simulated, NUMBERS | changed)) == text


@pytest.mark.parametrize(
    ("ours", "paper", "text"),
    [
        (Mean(0.40, 0.38, 0.42, 5), {"x": 41.0}, "40.0 ± 2.0\n41.0 (agrees)"),
        (Mean(0.40, 0.38, 0.42, 5), {"x": 60.0}, "40.0 ± 2.0\n60.0 (differs)"),
        (Mean(0.40, 0.38, 0.42, 5), {"x": 60.0, "low": 30.0, "high": 90.0}, "(agrees)"),
        (Mean(0.40, 0.10, 0.70, 5), {"x": 41.0}, "40.0 ± 30.0\n41.0 (too wide)"),
        (Mean(float("nan"), diverged=5), {"x": 41.0}, "diverged\n41.0"),
        (None, {"x": 41.0}, "not run\n41.0"),
        (Mean(0.40, 0.38, 0.42, 5), None, "40.0 ± 2.0"),
    ],
)
def test_a_mean_stands_over_the_papers_number_with_what_the_rule_says(ours, paper, text, simulated):
    line = Line(simulated, {"means": {"share": ours} if ours else {}, "paper": paper})
    column = mean("", "share", "x", scale=100.0, digits=1)
    assert column.text(line).endswith(text)
    [number] = column.numbers(line)
    assert number.record["run"] == (ours is not None)
    assert mean_seeds("share").text(line) == (
        "–" if ours is None else {5: "5", 0: "0 (5 div.)"}[ours.n]
    )
