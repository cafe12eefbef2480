"""Estimates over seeds and pairs, the multiverse, power and truth controls as readers see them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawing import draw, intervals, texts
from matplotlib.collections import PathCollection
from report_results import build

from orla.reports import estimates as told
from orla.reports.estimates import find_square
from orla.reports.numbers import MISSING
from orla.reports.report import Report
from orla.reports.study import Comparison
from orla.reports.tables.trust import specifications, varying_choices

GAP = {"gap_pp": 4.21, "t95_low_pp": 1.02, "t95_high_pp": 7.43, "r2_gap": 0.0312, "n_diverged": 0}
CLEAR = {"denominator": 0.67, "denominator_se": 0.01, "frozen_error": 1.1, "constant_error": 1.2}


@pytest.mark.parametrize(
    "bad",
    [
        {"denominator": 0.049},
        {"denominator": 0.2, "denominator_se": 0.07},
        {"denominator": np.nan, "unreliable": True},
    ],
)
def test_recovery_without_a_meaning_is_a_dash(bad):
    recovery = {"": 30.0, "low_": np.nan, "high_": np.nan}
    row = GAP | CLEAR | {f"recovery_full_{end}percent": n for end, n in recovery.items()} | bad
    assert not told.recovery_has_meaning(row)
    assert told.gap_text(row) == "–¶\nR² +0.031"
    assert told.recovery_text(row, "recovery_full") == "–¶"
    good = {key: CLEAR.get(key, False) for key in bad}
    assert told.recovery_text(row | good, "recovery_full") == "30.0"


def test_the_mean_denominator_decides_and_not_that_of_one_seed():
    assert told.recovery_has_meaning(CLEAR | {"unreliable": True})


def test_guards_are_told_once_with_the_number_of_gaps(results, simulated):
    estimates = results["estimates"].copy()
    main = (estimates["comparison"] == "per_step") & (estimates["estimand"] == "stable")
    few = main & estimates["optimizer"].isin(["sgd", "adam"])
    estimates.loc[few, "guards"] = "fewer than 20 updates: adapt to more steps"
    notes = build("two_by_two", {**results, "estimates": estimates}, simulated).notes
    assert notes == [f"‡ fewer than 20 updates: adapt to more steps ({few.sum()} gaps)."]


def test_the_square_is_found_among_the_comparisons(simulated):
    found = find_square(simulated)
    assert found == ("per_step", "per_window", "cadence_immediate", "cadence_full")
    assert found.learners(simulated) == ("immediate", "immediate-200", "rtrl", "tbptt-200-200")
    assert found.diagonal(simulated) == "paper"
    own = dict(simulated.comparisons) | {"floor": Comparison("floor", "immediate", "last-layer")}
    first = {"floor": own.pop("floor")} | own
    assert find_square(replace(simulated, comparisons=first)) == found
    without = {name: c for name, c in own.items() if name != "cadence_full"}
    assert find_square(replace(simulated, comparisons=without)) is None


def test_cells_that_were_not_run_say_so(wide, simulated):
    estimates = wide["estimates"].query("optimizer == 'sgd'")
    exact = estimates["comparison"].isin(["per_step", "cadence_full"])
    lacking = wide | {"estimates": estimates[(estimates["architecture"] == "rnn") | ~exact]}
    table = build("two_by_two", lacking, simulated)
    rows = [row for p in table.panels if "LSTM" in p.title for row in p.rows]
    assert len(rows) == 4
    for row in rows:
        assert [i for i, cell in enumerate(row) if cell == "not run"] == [4, 6, 9]
    figure, _ = draw("two_by_two", lacking, simulated)
    assert [t.get_text() for t in texts(figure)].count("not run") == 3
    dots = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    assert [len(c.get_offsets()) for c in dots] == [2, 2, 2, 1]  # one model diverged


def test_networks_without_a_meaningful_difference_are_named_not_drawn(wide, simulated):
    estimates = wide["estimates"].query("optimizer in ('sgd', 'adam')")
    lstm = estimates["architecture"] == "lstm"
    some = wide | {"estimates": estimates.assign(denominator=0.67 - 0.66 * lstm)}
    figure, caption = draw("two_by_two", some, simulated)
    assert len(figure.axes) == 2 * 2  # of one network, recoveries and differences by optimizer
    assert "no meaning" not in [t.get_text() for t in texts(figure)]
    assert "Recovery has no meaning on LSTM: see the table." in caption.caption
    none = wide | {"estimates": estimates.assign(denominator=0.01)}
    figure, caption = draw("two_by_two", none, simulated)
    assert caption is None and "not run" in texts(figure)[0].get_text()


def test_one_difference_is_no_two_by_two(results, simulated):
    rows = results["estimates"]
    lone = rows[rows["comparison"] == find_square(simulated).per_step].assign(architecture="gru")
    table = build("two_by_two", {"estimates": pd.concat([rows, lone])}, simulated)
    assert table.panels == build("two_by_two", results, simulated).panels and table.ran
    assert not build("two_by_two", {"estimates": lone}, simulated).ran


def test_every_pair_is_a_row_every_seed_a_dot_and_a_failing_guard_hollow(many, simulated):
    some = {n: f.query("optimizer == 'sgd'") for n, f in many.items() if "optimizer" in f}
    pairs, estimates = sorted(set(some["estimates"]["pair"])), some["estimates"]
    failing = (estimates["pair"] == "array-03").map({True: "fewer than 20 updates", False: ""})
    figure, caption = draw(
        "pairs", some | {"estimates": estimates.assign(guards=failing)}, simulated
    )
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [*pairs, "mean of pairs", "new pair"]
    seeds = some["seed_gaps"].query("comparison == 'per_step' and estimand == 'stable'")
    dots = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    drawn = np.concatenate([c.get_offsets()[:, 0] for c in dots])
    np.testing.assert_allclose(np.sort(drawn), np.sort(seeds["gap_pp"]))
    assert len(figure.axes) == 4 and "5 pairs" in caption.alt
    faces = [c.lines[0].get_markerfacecolor() for c in figure.axes[0].containers[: len(pairs)]]
    assert [face == "white" for face in faces] == [pair == "array-03" for pair in pairs]


def test_one_pair_is_drawn_with_its_own_interval_and_nothing_over_pairs(results, simulated):
    assert results["over_pairs"]["n_pairs"].max() == 1
    some = {n: f.query("optimizer == 'sgd'") for n, f in results.items() if "optimizer" in f}
    figure, caption = draw("pairs", some, simulated)
    assert "over seeds of one pair" in caption.caption and "new pair" not in caption.caption
    assert not {"mean of pairs", "new pair"} & {t.get_text() for t in texts(figure)}


def test_the_multiverse_has_every_choice(results, simulated):
    rows, raw = specifications(results["multiverse"], simulated), results["multiverse"]
    choices = varying_choices(rows)
    assert choices["pretraining"] == ["window of 1", "window of 50", "window of 200"]
    assert {"both per step", "both per 200 steps"} < {*choices["comparison"]}
    assert choices["split"] == ["50/50", "80/20"] and len(choices["metric"]) == 5
    assert choices["freezing"][-1] == "all steps" and choices["freezing"][0] == "5,000 steps"
    assert "network" not in choices
    error = rows[rows["metric"] == "error, sign reversed"]
    np.testing.assert_allclose(error["gap"], 100 * raw.loc[error.index, "gap"])
    known = error.dropna(subset=["low"])
    assert ((known["low"] <= known["gap"]) & (known["gap"] <= known["high"])).all()
    assert all(own["gap"].is_monotonic_increasing for _, own in rows.groupby("optimizer"))
    figure, _ = draw("multiverse", results, simulated)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.partition(",")[0] for title in titles] == ["Adam", "LARS"]


def test_the_multiverse_is_of_one_pair(many, simulated):
    own = many["multiverse"]
    more = own[own["pair"] == "array-05"].assign(freezing_step=100.0)
    both = pd.concat([own, more])
    rows = specifications(both, simulated)
    assert set(rows["pair"]) == {"array-05"}
    where = f" on {simulated.called('task', rows['task'].iloc[0])}, array-05"
    assert {*rows["on"]} == {where} and {*specifications(rows, simulated)["on"]} == {""}
    assert where in build("multiverse", {"multiverse": both}, simulated).caption
    # Gaps that recovery has no meaning for do not count, and are not drawn.
    known = own[own["pair"] == "array-04"].assign(freezing_step=100.0)
    unmeant = more.assign(gap=more["gap"].where(more["metric"].isin(("r2", "error"))))
    unknown = pd.concat([own, known, *[unmeant] * 4])
    assert set(specifications(unknown, simulated)["pair"]) == {"array-04"}
    some = own.copy()
    some.loc[(some["optimizer"] == "adam") & (some["metric"] == "stable"), "gap"] = np.nan
    figure, _ = draw("multiverse", {"multiverse": some}, simulated)
    rows = specifications(some, simulated).query("optimizer == 'adam'")
    [points, *_], *_ = intervals(figure.axes[0])
    assert 0 < len(points) == rows["gap"].notna().sum() < len(rows)
    assert figure.axes[0].get_title() == f"Adam, n = {len(points)}"


def test_figures_of_power_and_truth_controls_draw_the_results(results, simulated):
    figure, caption = draw("power", results, simulated)
    lines = figure.axes[0].lines
    np.testing.assert_allclose(lines[1].get_ydata(), 100 * results["power"]["supported"][:13])
    assert "adam-equivalence: power 0.00 to 0.82" in caption.alt
    figure, caption = draw("truth_controls", results, simulated)
    widths = [[bar.get_width() for bar in bars] for bars in figure.axes[0].containers]
    assert np.transpose(widths)[1].tolist() == [83, 2, 15, 0]
    assert np.sum(widths, axis=0).tolist() == [100.0] * 8
    assert "planted" in caption.alt and "2.0 % wrong" in caption.alt
    assert "5.0 % wrong, n = 100" in caption.alt
    order = [f"gap of one margin, {rules} rules" for rules in ("present", "former")]
    order.insert(1, "no gap planted, former rules")
    assert order == sorted(order, key=caption.alt.index)


def test_the_former_rules_stand_beside_the_present_ones(results, simulated):
    table = build("truth_controls", results, simulated)
    own, scatter = table.panels
    assert [row[0] for row in own.rows] == [
        f"made of {name}" for name in ("a-a", "planted-2", "delayed", "no-drift")
    ]
    assert own.rows[2][1:3] == (MISSING, "above 0") and own.rows[0][-2:] == (MISSING, MISSING)
    assert scatter.title == "Scatter of RNN, float64, 80/20: Adam"
    words = simulated.called("comparison", "paper")
    assert scatter.rows[1][:3] == (words, "+0.02", "within ±0.02")
    assert scatter.rows[1][-3].startswith("5.0\n") and scatter.rows[1][-2].startswith("9.0\n")
    assert scatter.rows[1][-1] == "91"


def test_the_opening_counts_wrong_verdicts_off_the_margin_by_the_present_rules(results, simulated):
    trust = Report(results, simulated).opening.background["How far to trust it"]
    said = "Of 500 made-up studies whose gap is known and not on the margin 3 got a wrong verdict"
    assert f"{said}, at most 2.0 % of one kind (made of planted-2)." in trust
