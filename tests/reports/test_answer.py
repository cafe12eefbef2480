"""The answer: the main comparison with its interval, where no guard fails, and what was decided."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import t

from orla.reports.estimates import OF_HELDOUT, find_square
from orla.reports.numbers import interval, number
from orla.reports.report import Report
from orla.study.keys import SETTING


def said(results, study):
    opening = Report(results, study).opening
    return " ".join([*opening.sentences, *opening.further])


MAIN = "estimand == 'stable' and comparison == 'paper' and optimizer == 'lars'"


def quoted(row):
    ends = interval(row["t95_low_pp"], row["t95_high_pp"])
    return f"({number(row['gap_pp'], signed=True)} {ends} pp"


def test_the_main_comparison_has_its_size_interval_and_side(few, simulated):
    first, judged = Report(few, simulated).opening.sentences
    told = said(few, simulated)
    assert first.startswith("Against “immediate, per step”, “TBPTT-200, per 200 steps” recovers ")
    assert f"more with LARS {quoted(few['estimates'].query(MAIN).iloc[0])}" in told
    assert "2 networks of one pair of sessions: RNN, float64, 80/20" in told
    assert "With LARS, gradient and cadence each by itself: full − immediate, per step" in told
    assert "Of 5 registered hypotheses: 2 shown in simulation, 1 not shown in simulation" in judged


def test_other_pretraining_of_the_same_network_is_quoted_beside(few, simulated):
    [here] = few["estimates"].query(MAIN).to_dict("records")
    rows = few["estimates"].query("optimizer == 'lars'")
    rows = rows.assign(architecture="other", gap_pp=rows["gap_pp"] + 7.0)
    both = few | {"estimates": pd.concat([few["estimates"], rows])}
    networks = {name: {"kind": "rnn", "hidden": 64} for name in (here["architecture"], "other")}
    for window, quotes in ((50, True), (1, False)):
        study = replace(
            simulated,
            instances={"architecture": networks},
            pretraining={here["architecture"]: 1, "other": window},
        )
        gap = quoted({**here, "gap_pp": here["gap_pp"] + 7.0}).removeprefix("(")
        told = said(both, study)
        assert (f"with windows of {window} steps: LARS {gap}" in told) == quotes
        assert ("Pretrained otherwise" in told) == quotes


def test_a_gap_whose_guard_fails_is_not_quoted(few, simulated):
    estimates = few["estimates"].copy()
    estimates.loc[estimates["optimizer"] == "lars", "guards"] = "fewer than 20 updates: adapt on"
    told = said(few | {"estimates": estimates}, simulated)
    assert "LARS (" not in told and "Adam (" in told
    report = Report(few | {"estimates": estimates}, simulated)
    heldout = estimates[estimates["estimand"] == "stable"]
    rest = (heldout["optimizer"] != "lars").sum()
    assert f"are quoted here: {rest} of {len(heldout)}" in report.opening.note
    heldout = estimates[estimates["estimand"] != "adapt"]
    failing = (heldout["guards"] != "").sum()
    trust = report.opening.background["How far to trust it"]
    assert f"Of {len(heldout)} held-out gaps {failing} fail a guard" in trust


def test_without_a_sound_gap_the_most_frequent_guard_is_named(few, simulated):
    estimates = few["estimates"].assign(guards="fewer than 20 updates: adapt to more steps")
    answer = Report(few | {"estimates": estimates}, simulated).opening
    assert "most often because fewer than 20 updates." in answer.sentences[0]
    assert " pp" not in " ".join(answer.sentences[:-1]) and not answer.quotes_gaps
    # Each difference counts once, not once at each estimand, and other comparisons do not count.
    asked = estimates[estimates["comparison"].isin(("paper", *(find_square(simulated) or ())))]
    asked = asked[asked["estimand"].isin(OF_HELDOUT) & asked["task"].isin(simulated.recordings)]
    count = len(asked.drop_duplicates([*SETTING, "comparison"]))
    assert f"none of {count} differences of the main comparison" in answer.sentences[0]
    assert count < len(asked)


def test_synthetic_tasks_are_told_against_exact_rtrl(few, simulated):
    models = few["heldout"].assign(task="sine")
    own = models.query("learner == 'immediate' and optimizer == 'adam'").index
    models["heldout_vs_best_rtrl_percent"] = np.nan
    models.loc[own, "heldout_vs_best_rtrl_percent"] = np.resize([80.0, 90.0, 100.0], len(own))
    mean = models.loc[own, "heldout_vs_best_rtrl_percent"].mean()
    told = said({"heldout": models}, simulated)
    assert f"cycles a step: {mean:.0f} [" in told and "exact RTRL recovers 100 %" in told
    single = models.copy()
    single.loc[own[1:], "heldout_vs_best_rtrl_percent"] = np.nan
    assert "exact RTRL recovers 100 %" not in said({"heldout": single}, simulated)
    [sentence] = [line for line in told.split(". ") if "exact RTRL recovers 100 %" in line]
    others = models.assign(heldout_vs_best_rtrl_percent=models["heldout_vs_best_rtrl_percent"] / 9)
    for key, value in (("split", "zz"), ("precision", "zz"), ("start", "zz")):
        both = pd.concat([models, others.loc[[*own][1:]].assign(**{key: value})])
        assert sentence in said({"heldout": both}, simulated), key


def test_the_gap_over_pairs_is_quoted_where_3_pairs_pass_every_guard(many, simulated):
    [row] = many["over_pairs"].query(MAIN).to_dict("records")
    told, _ = Report(many, simulated).opening.sentences
    sides = ("Over pairs of sessions (", f"more with LARS {quoted(row)}", "; 5 of 5 pairs)")
    for words in (*sides, "; less with SGD (−", "; neither clearly more nor less with Adam ("):
        assert words in told
    over = many["over_pairs"].assign(
        gap_without_failing_pp=7.0, t90_high_without_failing_pp=7.0 + 2.3533634, alpha=0.05
    )
    half = 3.1824463  # Student's t at 3 degrees of freedom, for 95 and above for 90 %
    sound = f"+7.0 {interval(7 - half, 7 + half)} pp; 4 of 5 pairs)"
    for last, words in (("array-04", sound), ("array-02", "fewer than 3 of 5 pass every guard")):
        guards = many["estimates"]["pair"].gt(last).map({True: "few updates", False: ""})
        estimates = many["estimates"].assign(guards=guards)
        told = said(many | {"estimates": estimates, "over_pairs": over}, simulated)
        assert "Over pairs of sessions (" in told and words in told


def test_over_pairs_no_single_pair_of_fewer_than_3_networks_is_quoted(many, simulated):
    for networks, told in ((3, True), (2, False)):
        estimates = many["estimates"].assign(n_seeds=networks)
        answer = Report(many | {"estimates": estimates}, simulated).opening
        assert "Over pairs of sessions (" in answer.sentences[0]
        assert bool(answer.further) == told
        alone = {n: f for n, f in many.items() if n != "over_pairs"}
        assert Report(alone | {"estimates": estimates}, simulated).opening.further


def test_an_opening_without_estimates_and_verdicts_says_so(few, simulated):
    nothing = {name: frame.iloc[:0] for name, frame in few.items()}
    none = "No difference between learners has been estimated. No registration has been judged."
    assert said(nothing, simulated) == said({}, simulated) == none


def test_a_study_that_compares_nothing_tells_what_is_recovered(few, simulated):
    rows = few["heldout"].query("learner == 'immediate' and optimizer == 'adam'")
    told = said({"heldout": rows}, simulated)
    mean = number(rows["recovery_heldout_percent"].mean())
    assert f"“immediate, per step” with Adam recovers {mean} [" in told and "right" not in told
    assert "estimated: “TBPTT-200, per 200 steps” of the main comparison was not run." in told
    rows = rows.assign(frozen_accuracy=0.2, accuracy=0.4, reference_accuracy=0.5)
    assert "20 % are right with the frozen network, 40 %" in said({"heldout": rows}, simulated)
    flat = rows.assign(reference_error=rows["frozen_heldout_error"])
    assert "recovers" not in said({"heldout": flat}, simulated)


def test_what_is_recovered_is_told_over_pairs_and_where_it_is_surest(few, simulated):
    rows = few["heldout"].query("learner == 'immediate' and optimizer == 'adam'")
    recovery = rows["recovery_heldout_percent"]
    pairs = [rows.assign(pair=str(i), recovery_heldout_percent=recovery + i) for i in range(3)]
    luck = rows.assign(optimizer="sgd", recovery_heldout_percent=recovery + [400, -100])
    told = said({"heldout": pd.concat([*pairs, luck.assign(pair="0")])}, simulated)
    mean = recovery.mean() + 1
    ends = interval(mean - t.ppf(0.975, 2) / 3**0.5, mean + t.ppf(0.975, 2) / 3**0.5)
    assert f"with Adam recovers {number(mean)} {ends} %" in told
    assert "(3 pairs of sessions: " in told


def test_the_primary_registration_is_told_first(few, simulated):
    verdicts = few["verdicts"].assign(registration=[f"own-{i}" for i in range(5)], primary=False)
    verdicts.loc[3, "primary"] = True
    alone = {"heldout": few["heldout"], "verdicts": verdicts}
    opening = Report(alone, simulated).opening
    assert [s[:24] for s in opening.sentences] == ["Of 5 registered hypothes"]
    assert f"The primary one, “{verdicts['title'][3]}”, is " in opening.sentences[0]
    assert "recovers" in opening.further[0] and "two things" not in opening.background["Asked"]
    assert "two things" in Report(few, simulated).opening.background["Asked"]


def test_background_says_what_was_asked_over_what_and_how_far_to_trust_it(few, simulated):
    said = Report(few, simulated).opening.background
    for what, words in (
        ("The drift", "There is a drift: a ridge decoder fitted on first has R² 0.30"),
        ("Asked", "Whether immediate derivatives"),
        ("Asked", "how often the weights"),
        ("Over what", "2 networks (RNN) on 1 pair of sessions"),
        ("Over what", "by 5 learners with SGD, Adafactor, Adam and LARS"),
        ("How far to trust it", "The sessions are simulated"),
        ("How far to trust it", "There is one pair of sessions"),
        (
            "How far to trust it",
            "Of 500 made-up studies whose gap is known and not on the margin 3 got",
        ),
    ):
        assert words in said[what]
    larger = few["heldout"].assign(architecture="large")
    study = replace(simulated, instances={"architecture": {"large": {"kind": "rnn", "hidden": 99}}})
    both = {"heldout": pd.concat([few["heldout"], larger])}
    assert "(RNN, hidden 99; RNN) on" in Report(both, study).opening.background["Over what"]


def test_the_best_refitted_decoder_stands_beside_the_best_learner(few, simulated):
    told = said(few, simulated)
    best = few["conditions"].sort_values("recovery_percent").iloc[-1]
    ends = interval(best["t95_low_percent"], best["t95_high_percent"])
    names = (simulated.called(kind, best[kind]) for kind in ("learner", "optimizer"))
    assert (
        "Refitted once on the same steps, readout recovers 31.0"
        f" [31.0,\xa031.0] %; of the learners {' with '.join(names)} recovers most,"
        f" {number(best['recovery_percent'])} {ends} % (weights frozen once)."
    ) in told
    without = said(few | {"baselines": few["baselines"].iloc[:0]}, simulated)
    assert "Refitted" not in without and without.count(".") < told.count(".")


def test_networks_that_learned_nothing_before_the_drift_are_said_first(few, simulated):
    right, reference = "% of the steps right", few["heldout"]["reference_error"]
    errors = few["heldout"].assign(constant_error=reference - 0.1)
    classes = errors.assign(accuracy=0.05, frozen_accuracy=0.04, reference_accuracy=0.046)
    for models, told in ((errors, " MSE, where"), (classes, f" nats, 4.6 {right}, where")):
        first, *_ = Report({"heldout": models}, simulated).opening.sentences
        assert first.startswith("No network has learned its task: without any drift the error is ")
        assert f"{told} a constant has " in first and (right in first) == (right in told)
    learned = errors.assign(constant_error=reference + 0.1)
    assert "learned its task" not in said({"heldout": learned}, simulated)
