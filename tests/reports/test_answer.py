"""The answer: the main comparison with its interval, where no guard fails, and what was decided."""

from dataclasses import replace

import pandas as pd
from scipy.stats import t

from orla.reports.estimates import OF_HELDOUT, find_square
from orla.reports.numbers import interval, number
from orla.reports.report import Report
from orla.study.keys import SETTING

MAIN = "estimand == 'stable' and comparison == 'paper' and optimizer == 'lars'"
IMMEDIATE_ADAM = "learner == 'immediate' and optimizer == 'adam'"


def said(results, study):
    opening = Report(results, study).opening
    return " ".join([*opening.sentences, *opening.further])


def quoted(row, more=0.0):
    ends = interval(row["t95_low_pp"], row["t95_high_pp"])
    return f"({number(row['gap_pp'] + more, signed=True)} {ends} pp"


def test_the_main_comparison_has_its_size_interval_and_side(few, simulated):
    first, judged, *further = (part := Report(few, simulated).opening).sentences + part.further
    told = " ".join([first, *further])
    assert first.startswith("Against “immediate, per step”, “TBPTT-200, per 200 steps” recovers ")
    assert "Of 5 registered hypotheses: 2 shown in simulation, 1 not shown in simulation" in judged
    best = few["conditions"].sort_values("recovery_percent").iloc[-1]
    ends = interval(best["t95_low_percent"], best["t95_high_percent"])
    names = (simulated.called(kind, best[kind]) for kind in ("learner", "optimizer"))
    for words in (
        f"more with LARS {quoted(few['estimates'].query(MAIN).iloc[0])}",
        "2 networks of one pair of sessions: RNN, float64, 80/20",
        "With LARS, gradient and cadence each by itself: full − immediate, per step",
        "Refitted once on the same steps, readout recovers 31.0"
        f" [31.0,\xa031.0] %; of the learners {' with '.join(names)} recovers most,"
        f" {number(best['recovery_percent'])} {ends} % (weights frozen once).",
    ):
        assert words in told
    assert "Refitted" not in said(few | {"baselines": few["baselines"].iloc[:0]}, simulated)


def test_other_pretraining_of_the_same_network_is_quoted_beside(few, simulated):
    rows = few["estimates"].query("optimizer == 'lars'")
    rows = rows.assign(architecture="other", gap_pp=rows["gap_pp"] + 7.0)
    both = {"heldout": few["heldout"], "estimates": pd.concat([few["estimates"], rows])}
    networks = {"architecture": {name: {"kind": "rnn"} for name in ("rnn", "other")}}
    gap = quoted(few["estimates"].query(MAIN).iloc[0], more=7.0).removeprefix("(")
    for window, quotes in ((50, True), (1, False)):
        study = replace(simulated, instances=networks, pretraining={"rnn": 1, "other": window})
        told = said(both, study)
        assert (f"with windows of {window} steps: LARS {gap}" in told) == quotes
        assert ("Pretrained otherwise" in told) == quotes


def test_a_gap_whose_guard_fails_is_not_quoted(few, simulated):
    is_lars = few["estimates"]["optimizer"] == "lars"
    estimates = few["estimates"].assign(guards=is_lars.map({True: "few: adapt on", False: ""}))
    given = few | {"estimates": estimates}
    told, opening = said(given, simulated), Report(given, simulated).opening
    assert "LARS (" not in told and "Adam (" in told
    stable = estimates["estimand"] == "stable"
    quotable = f"are quoted here: {(stable & ~is_lars).sum()} of {stable.sum()}"
    assert quotable in opening.note
    heldout = estimates["estimand"] != "adapt"
    failing = f"Of {heldout.sum()} held-out gaps {(heldout & is_lars).sum()} fail a guard"
    assert failing in opening.background["How far to trust it"]


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
    models, share = few["heldout"].assign(task="sine"), "heldout_vs_best_rtrl_percent"
    first, *rest = models.query(IMMEDIATE_ADAM).index
    models[share] = models.index.to_series().map({first: 80.0, **dict.fromkeys(rest, 90.0)})
    told = said({"heldout": models}, simulated)
    assert f"cycles a step: {models[share].mean():.0f} [" in told
    assert "exact RTRL recovers 100 %" in told
    [sentence] = [line for line in told.split(". ") if "exact RTRL recovers 100 %" in line]
    assert "exact RTRL recovers 100 %" not in said({"heldout": models.drop(rest)}, simulated)
    others = models.loc[rest].assign(**{share: 9.0})
    for key in ("split", "precision", "start"):
        both = pd.concat([models, others.assign(**{key: "zz"})])
        assert sentence in said({"heldout": both}, simulated), key


def test_the_gap_over_pairs_is_quoted_where_3_pairs_pass_every_guard(many, simulated):
    [row] = many["over_pairs"].query(MAIN).to_dict("records")
    told, _ = Report(many, simulated).opening.sentences
    sides = ("Over pairs of sessions (", f"more with LARS {quoted(row)}", "; 5 of 5 pairs)")
    for words in (*sides, "; less with SGD (−", "; neither clearly more nor less with Adam ("):
        assert words in told
    # Student's t at 3 degrees of freedom, for 90 % and for 95 %.
    ends = {"t90_high_without_failing_pp": 7.0 + 2.3533634, "alpha": 0.05}
    over = many["over_pairs"].assign(gap_without_failing_pp=7.0, **ends)
    sound = f"+7.0 {interval(7 - 3.1824463, 7 + 3.1824463)} pp; 4 of 5 pairs)"
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
    one = {"heldout": few["heldout"], "verdicts": few["verdicts"].iloc[:1]}
    assert "Of 1 registered hypothesis: 1 shown in simulation." in said(one, simulated)


def test_a_study_that_compares_nothing_tells_what_is_recovered(few, simulated):
    rows = few["heldout"].query(IMMEDIATE_ADAM)
    told = said({"heldout": rows}, simulated)
    mean = number(rows["recovery_heldout_percent"].mean())
    assert f"“immediate, per step” with Adam recovers {mean} [" in told and "right" not in told
    assert "estimated: “TBPTT-200, per 200 steps” of the main comparison was not run." in told
    rows = rows.assign(frozen_accuracy=0.2, accuracy=0.4, reference_accuracy=0.5)
    assert "20 % are right with the frozen network, 40 %" in said({"heldout": rows}, simulated)
    flat = rows.assign(reference_error=rows["frozen_heldout_error"])
    assert "recovers" not in said({"heldout": flat}, simulated)


def test_what_is_recovered_is_told_over_pairs_and_where_it_is_surest(few, simulated):
    rows = few["heldout"].query(IMMEDIATE_ADAM)
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
    drift, asked, over, trust = Report(few, simulated).opening.background.values()
    assert "There is a drift: a ridge decoder fitted on first has R² 0.30" in drift
    assert "Whether immediate derivatives" in asked and "how often the weights" in asked
    assert "2 networks (RNN) on 1 pair of sessions" in over
    assert "by 5 learners with SGD, Adafactor, Adam and LARS" in over
    assert "The sessions are simulated" in trust and "There is one pair of sessions" in trust
    made_up = "Of 500 made-up studies whose gap is known and not on the margin 3 got"
    assert made_up in trust
    larger = few["heldout"].assign(architecture="large")
    study = replace(simulated, instances={"architecture": {"large": {"kind": "rnn", "hidden": 99}}})
    both = {"heldout": pd.concat([few["heldout"], larger])}
    assert "(RNN, hidden 99; RNN) on" in Report(both, study).opening.background["Over what"]


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
