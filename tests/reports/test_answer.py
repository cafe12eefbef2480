"""The answer: the main comparison with its interval, where no guard fails, and what was decided."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orla.reports.numbers import interval, number
from orla.reports.report import Report


def said(results, study):
    opening = Report(results, study).opening
    return " ".join([*opening.sentences, *opening.further])


def row_of(results, **keys):
    rows = results["estimates"].query("estimand == 'stable' and comparison == 'paper'")
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    return rows.iloc[0]


def quoted(row):
    ends = interval(row["t95_low_pp"], row["t95_high_pp"])
    return f"({number(row['gap_pp'], signed=True)} {ends} pp"


def test_the_main_comparison_has_its_size_interval_and_side(results, simulated):
    first, judged = Report(results, simulated).opening.sentences
    told = said(results, simulated)
    assert first.startswith("Against “immediate, per step”, “TBPTT-200, per 200 steps” recovers ")
    assert f"LARS {quoted(row_of(results, optimizer='lars', split='80-20'))}" in told
    assert "5 networks of one pair of sessions: RNN, float64, 80/20" in told
    assert "With LARS, gradient and cadence each by itself: full − immediate, per step" in told
    assert "Of 5 registered hypotheses: 2 shown in simulation, 1 not shown in simulation" in judged


def test_other_pretraining_of_the_same_network_is_quoted_beside(results, simulated):
    here = row_of(results, optimizer="lars", split="80-20")
    other = here["architecture"] + "-other"
    rows = results["estimates"].query("split == '80-20' and optimizer == 'lars'")
    rows = rows.assign(architecture=other, gap_pp=rows["gap_pp"] + 7.0)
    estimates = pd.concat([results["estimates"], rows], ignore_index=True)
    specs = simulated.instances["architecture"] | {other: {"kind": "rnn", "hidden": 64}}
    specs[here["architecture"]] = specs[other]
    windows = dict(simulated.pretraining) | {here["architecture"]: 1, other: 50}
    study = replace(
        simulated,
        instances={**simulated.instances, "architecture": specs},
        pretraining=windows,
    )
    told = said(results | {"estimates": estimates}, study)
    gap = quoted({**here, "gap_pp": here["gap_pp"] + 7.0})
    assert f"with windows of 50 steps: LARS {gap.removeprefix('(')}" in told
    alike = replace(study, pretraining={**windows, other: 1})
    assert "Pretrained otherwise" not in said(results | {"estimates": estimates}, alike)


def test_a_gap_whose_guard_fails_is_not_quoted(results, simulated):
    estimates = results["estimates"].copy()
    estimates.loc[estimates["optimizer"] == "lars", "guards"] = "fewer than 20 updates: adapt on"
    told = said(results | {"estimates": estimates}, simulated)
    assert "LARS (" not in told and "Adam (" in told
    report = Report(results | {"estimates": estimates}, simulated)
    heldout = estimates[estimates["estimand"] != "adapt"]
    rest = (heldout["optimizer"] != "lars").sum()
    assert f"are quoted here: {rest} of {len(heldout)}" in report.opening.note
    failing = (estimates["guards"] != "").sum()
    trust = report.opening.background["How far to trust it"]
    assert f"Of {len(estimates)} gaps {failing} fail a guard" in trust


def test_without_a_sound_gap_the_most_frequent_guard_is_named(results, simulated):
    estimates = results["estimates"].assign(guards="fewer than 20 updates: adapt to more steps")
    answer = Report(results | {"estimates": estimates}, simulated).opening
    assert "most often because fewer than 20 updates." in answer.sentences[0]
    assert " pp" not in " ".join(answer.sentences[:-1]) and not answer.quotes_gaps


def test_synthetic_tasks_are_told_against_exact_rtrl(results, simulated):
    models = results["heldout"].assign(task="sine")
    own = models.query("learner == 'immediate' and optimizer == 'adam'").index
    models["heldout_vs_best_rtrl_percent"] = np.nan
    models.loc[own, "heldout_vs_best_rtrl_percent"] = np.resize([80.0, 90.0, 100.0], len(own))
    mean = models.loc[own, "heldout_vs_best_rtrl_percent"].mean()
    told = said({"heldout": models}, simulated)
    assert f"cycles a step: {mean:.0f} [" in told and "exact RTRL recovers 100 %" in told


def test_pairs_are_told_where_three_are_sound(build_results, simulated):
    pairs = tuple(f"array-{i:02}" for i in range(1, 6))
    many = build_results(n_seeds=3, splits=("80-20",), pairs=pairs)
    row = (
        many["over_pairs"]
        .query("estimand == 'stable' and comparison == 'paper' and optimizer == 'lars'")
        .iloc[0]
    )
    ends = interval(row["t95_low_pp"], row["t95_high_pp"])
    told, _ = Report(many, simulated).opening.sentences
    gap = number(row["gap_pp"], signed=True)
    assert told.startswith("Over pairs of sessions (") and f"LARS ({gap} {ends} pp" in told
    assert "; 5 of 5 pairs)" in told
    some = many["estimates"].copy()
    some.loc[some["pair"] == "array-02", "guards"] = "few updates"
    over = many["over_pairs"].assign(
        gap_without_failing_pp=7.0, t90_high_without_failing_pp=7.0 + 2.3533634, alpha=0.05
    )
    told = said(many | {"estimates": some, "over_pairs": over}, simulated)
    half = 3.1824463  # Student's t at 3 degrees of freedom, for 95 and above for 90 %
    assert f"+7.0 {interval(7 - half, 7 + half)} pp; 4 of 5 pairs)" in told
    estimates = many["estimates"].copy()
    estimates.loc[estimates["pair"] > "array-02", "guards"] = "few updates"
    told = said(many | {"estimates": estimates}, simulated)
    assert "Over pairs of sessions (" in told and "fewer than 3 of 5 pass every guard" in told


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_was_estimated(results, simulated, empty):
    nothing = {name: frame.iloc[:0] for name, frame in results.items()} if empty else {}
    told = said(nothing, simulated)
    assert told == (
        "No difference between learners has been estimated. No registration has been judged."
    )


def test_a_study_that_compares_nothing_tells_what_is_recovered(results, simulated):
    models = results["heldout"].query("learner == 'immediate' and optimizer == 'adam'")
    rows = models[models["selected"] & (models["split"] == "80-20")]
    told = said({"heldout": rows}, simulated)
    mean = number(rows["recovery_heldout_percent"].mean())
    assert f"“immediate, per step” with Adam recovers {mean} [" in told and "right" not in told
    rows = rows.assign(frozen_accuracy=0.2, accuracy=0.4, reference_accuracy=0.5)
    assert "20 % are right with the frozen network, 40 %" in said({"heldout": rows}, simulated)
    flat = rows.assign(reference_error=rows["frozen_heldout_error"])
    assert "recovers" not in said({"heldout": flat}, simulated)


def test_background_says_what_was_asked_over_what_and_how_far_to_trust_it(results, simulated):
    drift, asked, over, trust = Report(results, simulated).opening.background.values()
    assert drift.startswith("There is a drift: a ridge decoder fitted on first has R² 0.30")
    assert "Whether immediate derivatives" in asked and "how often the weights" in asked
    assert "20 networks (RNN) on 1 pair of sessions" in over
    assert "by 5 learners with SGD, Adafactor, Adam and LARS" in over
    assert "The sessions are simulated" in trust and "There is one pair of sessions" in trust
    assert "Of 400 made-up studies with a known answer 3 got a wrong verdict" in trust
    larger = results["heldout"].assign(architecture="large")
    study = replace(simulated, instances={"architecture": {"large": {"kind": "rnn", "hidden": 99}}})
    both = {"heldout": pd.concat([results["heldout"], larger])}
    assert "(RNN, hidden 99; RNN) on" in Report(both, study).opening.background["Over what"]


def test_the_best_refitted_decoder_stands_beside_the_best_learner(results, simulated):
    told = said(results, simulated)
    rows = results["conditions"].query("split == '80-20' and architecture == 'rnn'")
    best = rows.loc[rows["recovery_percent"].idxmax()]
    ends = interval(best["t95_low_percent"], best["t95_high_percent"])
    names = (simulated.called(kind, best[kind]) for kind in ("learner", "optimizer"))
    assert (
        "Refitted once on the same steps, readout recovers 31.0"
        f" [31.0,\xa031.0] %; of the learners {' with '.join(names)} recovers most,"
        f" {number(best['recovery_percent'])} {ends} % (weights frozen once)."
    ) in told
    without = said(results | {"baselines": results["baselines"].iloc[:0]}, simulated)
    assert "Refitted" not in without and without.count(".") < told.count(".")


def test_networks_that_learned_nothing_before_the_drift_are_said_first(results, simulated):
    models = results["heldout"].assign(constant_error=results["heldout"]["reference_error"] - 0.1)
    first, *_ = Report(results | {"heldout": models}, simulated).opening.sentences
    assert first.startswith("No network has learned its task: without any drift the error is ")
    assert " MSE, where a constant has " in first and "% of the steps right" not in first
    models = models.assign(accuracy=0.05, frozen_accuracy=0.04, reference_accuracy=0.046)
    first, *_ = Report(results | {"heldout": models}, simulated).opening.sentences
    assert " nats, 4.6 % of the steps right, where a constant has " in first
    learned = models.assign(constant_error=models["reference_error"] + 0.1)
    assert "learned its task" not in said(results | {"heldout": learned}, simulated)
