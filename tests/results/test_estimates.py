"""Estimates over the seeds of a pair, against plain loops over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import (
    COLUMNS,
    COMPARED,
    FROZEN,
    RECOVERY,
    at,
    best,
    expanded,
    marked,
    matrix,
    resampled,
    runner_up,
    t_ends,
    table,
)
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from orla.errors import OrlaError


def row(frame, estimand="heldout", pair="a", **changes):
    found = table("estimates", frame, **changes)
    found = found[(found["estimand"] == estimand) & (found["pair"] == pair)]
    assert len(found) == 1
    return found.iloc[0]


def held(found, scale, way, gap, confidence):
    """The gap formed in one way and the ends of its interval are these seeds' or pairs'."""
    patterns = {"pp": ("gap{}_pp", "t90_{}{}_pp"), "variance": ("error_gap{}", "error_t90_{}{}")}
    mean, end = patterns[scale]
    names = [mean.format(way), *(end.format(at, way) for at in ("low", "high"))]
    expected = [np.nanmean(gap), *t_ends(gap, confidence)]
    assert found[names].tolist() == pytest.approx(expected, abs=1e-10), way


@pytest.mark.parametrize("estimand", COLUMNS)
@pytest.mark.parametrize("drawn", [0, 1, 2])
def test_every_number_of_a_row(estimand, drawn):
    frame = varied(seeds=[("a", 6)], drawn=drawn, lost=0.3).sample(frac=1, random_state=drawn)
    given = {"resamples": 150, "seed": 4, "margin_pp": 2.5, "margin_variance": 0.01, "alpha": 0.1}
    found = row(frame, estimand, **given)
    full, immediate = (at(frame, one, RECOVERY[estimand], estimand) for one in COMPARED["per_step"])
    gap = (full - immediate)[np.isfinite(full - immediate)]
    n = len(gap)
    lost = [at(frame, one, "diverged", estimand) == 1 for one in COMPARED["per_step"]]
    assert (found["n_seeds"], found["n_diverged"]) == (n, (lost[0] | lost[1]).sum())
    assert found["gap_pp"] == pytest.approx(gap.mean(), abs=1e-10)
    assert found["standard_error_pp"] == pytest.approx(stats.sem(gap)) and found["dof"] == n - 1
    assert (found["t90_low_pp"], found["t90_high_pp"]) == pytest.approx(t_ends(gap, 0.8))
    assert (found["t95_low_pp"], found["t95_high_pp"]) == pytest.approx(t_ends(gap))
    test = ttost_paired(gap, np.zeros(n), -2.5, 2.5)
    assert found["tost_p"] == pytest.approx(test[0]) and found["equivalent"] == (test[0] < 0.1)
    assert found["delta_star_pp"] == pytest.approx(np.abs(t_ends(gap, 0.8)).max())
    assert (found["margin_pp"], found["alpha"]) == (2.5, 0.1)

    draws = np.random.default_rng(4).integers(0, 6, (150, 6))
    gaps, chosen = resampled(frame, estimand, "a", draws)
    for confidence, name in ((0.95, "resampled"), (0.8, "resampled_90")):
        ends = found[f"{name}_low_pp"], found[f"{name}_high_pp"]
        assert ends == pytest.approx(expanded(gaps, n, confidence), abs=1e-9)
    kept = [marked(frame, one, estimand) for one in COMPARED["per_step"]]
    shares = (chosen != kept).mean(axis=0)
    assert found["other_rate_share"] == pytest.approx(shares.max())

    prices = []
    for learner, rate in zip(COMPARED["per_step"], kept, strict=True):
        # The stable scores are not known at every rate.
        at_end = "heldout" if estimand == "stable" else estimand
        recovery = matrix(frame, learner, RECOVERY[at_end])
        on_test = best(matrix(frame, learner, COLUMNS[at_end][2]))
        prices.append(np.nanmean(recovery[:, on_test] - recovery[:, rate]))
    assert found["price_pp"] == pytest.approx(max(prices, key=abs), abs=1e-10)

    # The same of errors, the second learner's minus the first's, with its own margin.
    errors = [at(frame, one, COLUMNS[estimand][2], estimand) for one in COMPARED["per_step"]]
    gap = (errors[1] - errors[0])[np.isfinite(errors[1] - errors[0])]
    assert (found["error_n_seeds"], found["error_dof"]) == (len(gap), len(gap) - 1)
    assert found["error_gap"] == pytest.approx(gap.mean(), abs=1e-12)
    assert found["error_standard_error"] == pytest.approx(stats.sem(gap))
    assert (found["error_t90_low"], found["error_t90_high"]) == pytest.approx(t_ends(gap, 0.8))
    assert (found["error_t95_low"], found["error_t95_high"]) == pytest.approx(t_ends(gap))
    test = ttost_paired(gap, np.zeros(len(gap)), -0.01, 0.01)
    assert found["error_tost_p"] == pytest.approx(test[0]) and found["error_margin"] == 0.01
    assert found["error_equivalent"] == (test[0] < 0.1)
    assert found["error_delta_star"] == pytest.approx(np.abs(t_ends(gap, 0.8)).max())

    below = at(frame, "rtrl", FROZEN[estimand], estimand)
    scored = [np.where(gone, 0.0, r) for gone, r in zip(lost, (full, immediate), strict=True)]
    held(found, "pp", "_frozen", scored[0] - scored[1], 0.8)
    scored = [np.where(gone, below, e) for gone, e in zip(lost, errors, strict=True)]
    held(found, "variance", "_frozen", scored[1] - scored[0], 0.8)
    for i, learner in enumerate(COMPARED["per_step"]):
        rate, way = runner_up(frame, learner, estimand), ("_runner_up_full", "_runner_up_immediate")
        other = [full, immediate], list(errors)
        other[0][i] = matrix(frame, learner, RECOVERY[estimand])[:, rate]
        other[1][i] = matrix(frame, learner, COLUMNS[estimand][2])[:, rate]
        held(found, "pp", way[i], other[0][0] - other[0][1], 0.8)
        held(found, "variance", way[i], other[1][1] - other[1][0], 0.8)

    names = ["r2_gap", "r2_t95_low", "r2_t95_high"]
    if r2 := COLUMNS[estimand][3]:
        gap = np.subtract(*(at(frame, one, r2, estimand) for one in COMPARED["per_step"]))
        assert found[names].tolist() == pytest.approx([np.nanmean(gap), *t_ends(gap)])
    else:
        assert found[names].isna().all()
    reference = at(frame, "rtrl", "reference_error", estimand)
    zero = below
    if estimand != "adapt":
        zero = np.minimum(below, at(frame, "rtrl", "constant_error", estimand))
    for name, values, error in zip(("full", "immediate"), (full, immediate), errors, strict=True):
        over_best = 100 * (zero - error) / (zero - reference)
        for level, each in (("recovery", values), ("over_best", over_best)):
            names = [f"{level}_{name}{end}_percent" for end in ("", "_low", "_high")]
            assert found[names].tolist() == pytest.approx([np.nanmean(each), *t_ends(each)])
    denominator = below - reference
    assert found["denominator"] == pytest.approx(denominator.mean())
    assert found["denominator_se"] == pytest.approx(stats.sem(denominator))
    frozen_error = at(frame, "rtrl", "frozen_heldout_error", estimand)
    assert found["frozen_error"] == pytest.approx(frozen_error.mean())
    assert found["constant_error"] == pytest.approx(1.6 + 0.01 * 2.5)
    assert found["updates"] == 66


def test_a_close_choice_widens_the_resampled_interval_and_not_that_of_t():
    frame = varied(seeds=[("a", 6)], rates=[("rtrl", 2), ("immediate", 1)], lost=0, drawn=3)
    full = frame["learner"] == "rtrl"
    frame["recovery_heldout_percent"] = 40.0 + 0.1 * frame["seed"] * full
    high = full & (frame["learning_rate"] > 2e-4)
    frame.loc[high, "recovery_heldout_percent"] += 10.0
    ways = {}
    for name, noise in (("close", 0.05), ("clear", 0.0)):
        wave = noise * np.where(frame["seed"] % 2 == 0, 1.0, -1.0)
        frame["validation_rolling_error"] = np.where(high, 0.7 + wave, 0.701)
        chosen = marked_by_validation(frame)
        ways[name] = row(chosen)
    close, clear = ways["close"], ways["clear"]
    assert close["t95_high_pp"] - close["t95_low_pp"] < 1
    assert close["resampled_high_pp"] - close["resampled_low_pp"] > 9
    assert clear["resampled_high_pp"] - clear["resampled_low_pp"] < 1
    assert close["other_rate_share"] > 0.2 > clear["other_rate_share"] == 0


def marked_by_validation(frame):
    """The frame with `selected` true at the rate that its validation errors choose."""
    frame = frame.copy()
    for (learner, pair), some in frame.groupby(["learner", "pair"]):
        values = matrix(frame, learner, "validation_rolling_error", pair)
        rate = sorted(some["learning_rate"].unique())[best(values)]
        frame.loc[some.index, "selected"] = some["learning_rate"] == rate
    return frame


def test_one_seed_has_a_gap_and_no_interval():
    found = row(varied(seeds=[("a", 1)], lost=0).assign(edge=False), margin_pp=50)
    assert np.isfinite(
        found[["gap_pp", "r2_gap", "error_gap", "gap_frozen_pp", "price_pp"]].tolist()
    ).all()
    ends = [c for c in found.index if c.startswith(("t9", "resampled")) or "_t95_" in c]
    ends += ["standard_error_pp", "delta_star_pp", "other_rate_share", "denominator_se"]
    ends += [c for c in found.index if c.endswith(("_low_percent", "_high_percent"))]
    ends += ["error_standard_error", "error_delta_star", "error_t90_low_frozen"]
    assert found[ends].isna().all()
    assert (found["n_seeds"], found["dof"], found["tost_p"]) == (1, 0, 1.0)
    assert (found["error_n_seeds"], found["error_dof"], found["error_tost_p"]) == (1, 0, 1.0)
    assert not found["equivalent"] and found["guards"] == ""


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("updates", 12, "rtrl with adam makes 12 updates"),
        ("edge", True, "immediate with adam has its rate"),
        ("constant_error", 0.2, "is no lower than that of the best constant, 0.2"),
    ],
)
def test_the_table_is_guarded(column, value, words):
    frame = varied(seeds=[("a", 3), ("b", 3)], lost=0, drawn=5)
    frame = frame.assign(edge=False, edge_on_adapt=False)
    clean = table("estimates", frame, margin_pp=50)
    found = table("estimates", frame.assign(**{column: value}), margin_pp=50)
    some = found["estimand"] != "adapt" if column == "edge" else slice(None)
    assert not clean["guards"].str.contains(words).any()
    assert found.loc[some, "guards"].str.contains(words).all()


def runner_up_at(differences):
    """A row in which rtrl's second rate has these errors (seeds,) above its first one's."""
    frame = varied(seeds=[("a", len(differences))], rates=[("rtrl", 3), ("immediate", 3)], lost=0)
    frame["selected"] = frame["learning_rate"] < 2e-4
    far = 0.5 * (frame["learning_rate"] > 2e-3)
    frame["validation_rolling_error"] = 0.5 + frame["seed"] / 64 + far
    second = (frame["learner"] == "rtrl") & frame["learning_rate"].between(2e-4, 2e-3)
    frame.loc[second, "validation_rolling_error"] += np.array(differences)
    frame.loc[(frame["learner"] != "rtrl") & ~frame["selected"], "validation_rolling_error"] += 1
    return row(frame)


@pytest.mark.parametrize(
    ("differences", "another"),
    [
        ([0.02, -0.02, 0.01, 0.0], True),
        ([0.03, 0.03, 0.03, 0.02], False),
        ([0.0, 0.0, 0.0, 1 / 16], True),  # a mean of exactly one standard error
        ([0.001, 0.0, 0.0, 1 / 16], False),
        ([-0.02, -0.02, np.nan, -0.02], False),
        ([0.0], False),
    ],
)
def test_a_runner_up_is_within_one_standard_error_of_the_paired_difference(differences, another):
    found = runner_up_at(differences)
    for gap in ("gap{}_pp", "error_gap{}"):
        usual, full, now = (
            found[gap.format(way)] for way in ("", "_runner_up_full", "_runner_up_immediate")
        )
        assert (full != usual) == another and now == usual


def test_recovery_over_best_takes_the_better_zero_network_by_network():
    frame = varied(seeds=[("a", 4)], lost=0)
    constant = frame["seed"].map({0: 0.9, 1: 1.5, 2: 0.95, 3: 1.5})  # frozen errors are 1 to 1.2
    found = row(frame.assign(constant_error=constant))
    error, reference, frozen = (
        at(frame, "rtrl", f"{name}_error", "heldout")
        for name in ("heldout", "reference", "frozen_heldout")
    )
    zero = np.array([0.9, frozen[1], 0.95, frozen[3]])
    expected = 100 * (zero - error) / (zero - reference)
    names = [f"over_best_full{end}_percent" for end in ("", "_low", "_high")]
    assert found[names].tolist() == pytest.approx([expected.mean(), *t_ends(expected)])
    assert found["over_best_full_percent"] < found["recovery_full_percent"]
    # A constant as good as the reference leaves no denominator, and recovery itself keeps its own.
    found = row(frame.assign(constant_error=frame["reference_error"] + 0.04))
    assert found[names].isna().all() and found["has_meaning"]
    assert np.isfinite(found["recovery_full_percent"])


def test_a_small_denominator_takes_all_recovery_away_and_no_error():
    frame = varied(seeds=[("a", 4), ("b", 4)], lost=0)
    small = frame.assign(reference_error=frame["frozen_heldout_error"] - 0.04)
    found, usual = row(small), row(frame)
    assert not found["has_meaning"] and usual["has_meaning"]
    assert found["guards"] == usual["guards"]
    own = ("gap", "standard_error_pp", "t90", "t95", "delta", "recovery", "resampled", "price")
    lost = [c for c in found.index if c.startswith((*own, "over_best")) and c != "tost_p"]
    assert found[lost].isna().all() and usual[lost].notna().all() and len(lost) == 33
    assert found["tost_p"] == 1 and not found["equivalent"]
    kept = [c for c in found.index if c.startswith("error_")]
    assert found[kept].tolist() == usual[kept].tolist() and len(kept) == 21
    noisy = frame["frozen_heldout_error"] - np.where(frame["seed"] == 0, 1.5, 0.01)
    found = row(frame.assign(reference_error=noisy))
    assert found["denominator"] > 0.05 and np.isnan(found["gap_pp"])


@pytest.mark.parametrize("name", ["estimates", "seed_gaps"])
def test_tables_without_the_further_columns_are_refused(name):
    frame = varied(seeds=[("a", 2)])
    columns = ("selected_on_adapt", "validation_rolling_error", "heldout_stable_error")
    for column in (*columns, "edge_on_adapt", "constant_error", "updates"):
        with pytest.raises(OrlaError, match=f"lacks the column {column}; rebuild it"):
            table(name, frame.drop(columns=column))
    with pytest.raises(OrlaError, match=r"/rtrl/.*: selected_on_adapt marks 3 learning rates"):
        table(name, frame.assign(selected_on_adapt=frame["learner"] == "rtrl"))
    with pytest.raises(OrlaError, match=r"seed 1 occurs twice at the rate 0.001"):
        table(
            name, pd.concat([frame, frame[(frame["seed"] == 1) & (frame["learning_rate"] == 1e-3)]])
        )


def test_a_model_that_is_missing_scores_as_one_that_diverged():
    frame = varied(seeds=[("a", 3)], lost=0)
    high = frame["learning_rate"] > 9e-3
    frame = frame[~((frame["learner"] == "rtrl") & high & (frame["seed"] == 2))]
    gone = varied(seeds=[("a", 3)], lost=0)
    where = (gone["learner"] == "rtrl") & high & (gone["seed"] == 2)
    gone.loc[where, [c for c in gone if "error" in c or "recovery" in c]] = np.nan
    columns = ["gap_pp", "resampled_low_pp", "resampled_high_pp", "other_rate_share"]
    if not frame.loc[high & (frame["learner"] == "rtrl"), "selected"].any():
        assert row(frame)[columns].tolist() == row(gone)[columns].tolist()
