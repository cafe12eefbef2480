"""Each number stands in its own cell; cells are held to texts written by hand, and to lines that
lack a number."""

from dataclasses import replace

import pandas as pd
import pytest
from report_results import build

from orla.reports.cells import (
    Line,
    mean_beside,
    part_name,
    seed_count,
    seeds_and_diverged,
    value,
    with_interval,
)
from orla.reports.comparison import Mean
from orla.reports.numbers import rate
from orla.reports.paper import load
from orla.reports.study import Comparison, where
from orla.results.baselines import Baselines

KEYS = {
    **{"task": "recordings", "pair": "default", "architecture": "rnn", "precision": "float64"},
    **{"split": "80-20", "intervention": "none", "start": "pretrained"},
}
CONDITION = {
    **{"learner": "immediate", "optimizer": "adam", "learning_rate": 2e-3, "edge": False},
    **{"n_seeds": 7, "n_diverged": 3, "recovery_percent": 11.1, "over_best_percent": 9.9},
    **{"t95_low_percent": 10.2, "t95_high_percent": 12.3, "adapt_recovery_percent": 21.4},
    **{"r2_mean": 0.37, "unreliable": False},
}
MODEL = {"frozen_heldout_error": 1.13, "reference_error": 0.57, "updates": 4321}
MODEL |= {"constant_error": 1.2}
OF_MODEL = ["learner", "optimizer", "seed", *MODEL]
GAP = {
    **{"optimizer": "sgd", "estimand": "heldout", "comparison": "paper", "n_seeds": 6},
    **{"n_diverged": 0, "gap_pp": -4.1, "t95_low_pp": -5.5, "t95_high_pp": -2.7},
    **{"r2_gap": 0.021, "error_gap": -0.034, "guards": ""},
}


def frame(*rows):
    return pd.DataFrame([{**KEYS, **row} for row in rows])


def heads(table):
    return [": ".join(filter(None, (c.group, c.header))) for c in table.columns]


def heldout(study, **changed):
    """The table of a study without refitted decoders."""
    condition = frame({**CONDITION, **changed}).drop(columns=[*MODEL], errors="ignore")
    model = frame({**CONDITION, **MODEL, "seed": 0, **changed})[[*KEYS, *OF_MODEL]]
    baselines = pd.DataFrame(columns=[*Baselines.columns])
    results = {"conditions": condition, "heldout": model, "baselines": baselines}
    return build("heldout", results, study)


def gaps(study, *rows):
    return build("bci_gap", {"estimates": frame(*rows)}, study)


@pytest.mark.parametrize(("constant", "said"), [(1.0, True), (1.2, False)])
def test_recovery_over_best_is_added_where_the_constant_beats_the_frozen_network(
    constant, said, simulated
):
    rows = heldout(simulated, constant_error=constant).panels[0].rows
    [recovery] = [row[3] for row in rows if "not run" not in row]
    assert recovery.endswith("\nover best 9.9") == said


def test_the_papers_gap_stands_beside_networks_frozen_at_the_end_alone(simulated):
    table = gaps(simulated, *({**GAP, "estimand": name} for name in ("heldout", "adapt", "stable")))
    shown = {p.title.split(": ")[1]: {r[0]: r for r in p.rows}["SGD"][3] for p in table.panels}
    assert shown == {
        "mean of the last freezing points": "–",
        "frozen once, at the end": "−9.9\n[−16.4,\u00a0−3.5]",
        "over the adapt part, while learning": "–",
    }


@pytest.mark.parametrize(
    "learners", [("tbptt-20-20", "immediate"), ("tbptt-200-200", "immediate-200")]
)
def test_the_papers_gap_stands_only_beside_its_learners(learners, simulated):
    other = {"paper": Comparison("diagonal", *learners)}
    assert heads(gaps(replace(simulated, comparisons=other), GAP)) == ["Optimizer", "n", "diagonal"]


@pytest.mark.parametrize("changed", [{"intervention": "rescale"}, {"start": "fresh"}])
def test_no_paper_number_beside_other_gradients_or_starts(changed, simulated):
    shown = {panel.title: panel.rows for panel in gaps(simulated, {**GAP, **changed}).panels}
    [own] = shown.pop(f"RNN, float64, 80/20, {next(iter(changed.values()))}")
    assert own[2].startswith("−4.1") and own[3] == "–"
    assert [row[2] for rows in shown.values() for row in rows] == ["not run"] * 4
    rows = [row for p in heldout(simulated, **changed).panels for row in p.rows]
    assert [row[6:] for row in rows if row[3] != "not run"] == [("–", "–")]


def test_no_paper_column_beside_networks_of_another_size(simulated):
    study = replace(simulated, instances={"architecture": {"rnn": {"kind": "rnn", "hidden": 8}}})
    assert "paper" not in [c.header for c in gaps(study, GAP).columns]
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
    ratio = {"update_ratio": 7.77, "update_ratio_t95_low": 6.66, "update_ratio_t95_high": 8.88}
    rows = frame({**GAP, **ratio}, {**GAP, **ratio, **changed})
    table = build("ratio_gap", {"ratio_gap": rows, "ratio_gap_order": rows[:0]}, simulated)
    shown = {panel.title: {row[0]: row[2::2] for row in panel.rows} for panel in table.panels}
    assert shown["RNN, float64, 80/20"]["SGD"] == ("4.30", "−10")
    [other] = shown.keys() - {"RNN, float64, 80/20"}
    assert shown[other]["SGD"] == ("–", gap)


def test_rows_of_the_paper_that_were_not_run_say_so(simulated):
    table = heldout(simulated)
    [row] = [r for p in table.panels if ": last layer" in p.title for r in p.rows if r[0] == "SGD"]
    assert row == ("SGD", "–", "–", "not run", "–", "–", "22.1", "–")
    data, ours = table.data.set_index(["learner", "optimizer"]), ("immediate", "adam")
    shared = {"precision": "float64", "split": "80-20", "architecture": "rnn"}
    assert len(data) == len(where(load().heldout_recoveries, **shared)) > 10
    assert data.index[data["run"]].tolist() == [ours]
    assert data.loc[("last-layer", "sgd"), "paper_recovery_percent"] == 22.1
    assert data.loc[ours, "n_seeds"] == 7 and str(data["n_seeds"].dtype) == "Int64"


NUMBERS = {"x": -1.26, "low": -2.0, "high": 0.5, "n_seeds": 3, "n_diverged": 2, "optimizer": "sgd"}


@pytest.mark.parametrize(
    ("column", "changed", "text"),
    [
        (value("", "x"), {}, "−1.3"),
        (value("", "x", digits=2, signed=True), {"x": 1.26}, "+1.26"),
        (value("", "x", rate), {"x": 3e-4}, "3×10⁻⁴"),
        (value("", "x"), {"x": float("nan")}, "–"),
        (with_interval("", "x", "low", "high"), {}, "−1.3 [−2.0,\u00a00.5]"),
        (with_interval("", "x"), {"x_low": -2.0, "x_high": 0.5}, "−1.3 [−2.0,\u00a00.5]"),
        (with_interval("", "x", "low", "high"), {"n_seeds": 1}, "−1.3"),
        (with_interval("", "x", "low", "high"), {"run": False}, "not run"),
        (seeds_and_diverged(), {}, "3 (2 div.)"),
        (seeds_and_diverged(), {"n_diverged": float("nan")}, "3"),
        (part_name("optimizer"), {}, "SGD"),
        (part_name("optimizer"), {"optimizer": ""}, "–"),
    ],
)
def test_what_a_cell_shows_of_a_row(column, changed, text, simulated):
    assert column.text(Line(simulated, NUMBERS | changed)) == text


OF_OTHER_UNITS = {"x": 41.0, "not_comparable": "of other units."}


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
        (Mean(0.40, 0.38, 0.42, 5), OF_OTHER_UNITS, "40.0 ± 2.0\n41.0 (not comparable)"),
        (None, OF_OTHER_UNITS, "not run\n41.0"),
    ],
)
def test_a_mean_stands_over_the_papers_number_with_what_the_rule_says(ours, paper, text, simulated):
    line = Line(simulated, {"means": {"share": ours} if ours else {}, "paper": paper})
    column = mean_beside("", "share", "x", scale=100.0, digits=1)
    assert column.text(line).endswith(text)
    [number] = column.numbers(line)
    assert number.csv_row["run"] == (ours is not None)
    assert number.csv_row["not_comparable"] == (paper or {}).get("not_comparable", "")
    seeds = "–" if ours is None else {5: "5", 0: "0 (5 div.)"}[ours.n]
    assert seed_count("share").text(line) == seeds
