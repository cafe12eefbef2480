"""Estimates over the seeds of a pair, and over pairs, against plain loops over rows."""

import numpy as np
import pytest
from made_up import varied
from results_by_hand import (
    COLUMNS,
    FROZEN,
    RECOVERY,
    at,
    given,
    held,
    hold_test,
    matrix,
    runner_up,
    t_ends,
    table,
)
from scipy import stats

from orla.results import base
from orla.statistics.mixed import random_intercept

BOTH = ("rtrl", "immediate")
SEEDS = [("a", 4), ("b", 3), ("c", 5)]
LEVELS = [f"{m}_{side}" for m in ("recovery", "over_best") for side in ("full", "immediate")]


def row(frame, estimand="heldout", pair="a", **changes):
    found = table("estimates", frame, **changes)
    [found] = found[(found["estimand"] == estimand) & (found["pair"] == pair)].iloc
    return found


def mean_with_ends(found, name, values, mean="{}_percent", end="{}_{}_percent"):
    values = np.asarray(values)[np.isfinite(values)]
    names = [mean.format(name), *(end.format(name, at) for at in ("low", "high"))]
    expected = [values.mean() if len(values) else np.nan, *t_ends(values)]
    assert found[names].tolist() == pytest.approx(expected, nan_ok=True), name


@pytest.mark.parametrize(("estimand", "drawn"), [*zip(COLUMNS, range(3), strict=True)])
def test_every_number_of_a_row(estimand, drawn):
    frame = varied(seeds=[("a", 6)], drawn=drawn, lost=0.3).sample(frac=1, random_state=drawn)
    settings = {"margin_pp": 2.5, "margin_variance": 0.01}
    found = row(frame, estimand, **settings, alpha=0.1)
    _, _, error, r2 = COLUMNS[estimand]
    full, immediate = (at(frame, one, RECOVERY[estimand], estimand) for one in BOTH)
    errors = [at(frame, one, error, estimand) for one in BOTH]
    lost = [at(frame, one, "diverged", estimand) == 1 for one in BOTH]
    n, of_errors = np.isfinite(full - immediate).sum(), np.isfinite(errors[1] - errors[0]).sum()
    counts = found[["n_seeds", "error_n_seeds", "n_diverged", "alpha", "updates"]].tolist()
    assert counts == [n, of_errors, (lost[0] | lost[1]).sum(), 0.1, 66]
    hold_test(found, "pp", full - immediate, 2.5)
    hold_test(found, "variance", errors[1] - errors[0], 0.01)

    below = at(frame, "rtrl", FROZEN[estimand], estimand)
    held(found, "pp", "_frozen", np.where(lost[0], 0, full) - np.where(lost[1], 0, immediate))
    further = np.where(lost[1], below, errors[1]) - np.where(lost[0], below, errors[0])
    held(found, "variance", "_frozen", further)
    for i, (learner, side) in enumerate(zip(BOTH, ("full", "immediate"), strict=True)):
        recoveries, further = [full, immediate], [*errors]
        rate = runner_up(frame, learner, estimand)
        recoveries[i] = matrix(frame, learner, RECOVERY[estimand])[:, rate]
        further[i] = matrix(frame, learner, error)[:, rate]
        held(found, "pp", f"_runner_up_{side}", recoveries[0] - recoveries[1])
        held(found, "variance", f"_runner_up_{side}", further[1] - further[0])

    gap = np.subtract(*(at(frame, one, r2, estimand) for one in BOTH)) if r2 else np.empty(0)
    mean_with_ends(found, "r2", gap, "{}_gap", "{}_t95_{}")
    reference = at(frame, "rtrl", "reference_error", estimand)
    zero = below
    if estimand != "adapt":
        zero = np.minimum(below, at(frame, "rtrl", "constant_error", estimand))
    over_best = [100 * (zero - error) / (zero - reference) for error in errors]
    for name, values in zip(LEVELS, (full, immediate, *over_best), strict=True):
        mean_with_ends(found, name, values)
    span, frozen = below - reference, at(frame, "rtrl", "frozen_heldout_error", estimand)
    expected = [span.mean(), stats.sem(span), frozen.mean(), 1.6 + 0.01 * 2.5]
    names = ["denominator", "denominator_se", "frozen_error", "constant_error"]
    assert found[names].tolist() == pytest.approx(expected)


def over_pairs(frame, estimand="heldout", **changes):
    """The estimates of each pair, and the row over pairs."""
    tables = {"models": frame, "estimates": table("estimates", frame, **changes)}
    found = base.build("over_pairs", tables, given(**changes))
    [found] = found[found["estimand"] == estimand].iloc
    return tables["estimates"].query("estimand == @estimand"), found


@pytest.mark.parametrize(("estimand", "drawn"), [*zip(COLUMNS, (1, 4, 1), strict=True)])
def test_every_number_of_a_row_over_pairs(estimand, drawn):
    frame = varied(SEEDS, drawn=drawn, lost=0.3)
    settings = {"margin_pp": 4.0, "margin_variance": 0.01}
    shuffled = frame.sample(frac=1, random_state=drawn)
    estimates, found = over_pairs(shuffled, estimand, **settings, alpha=0.1)

    def differences(column, *learners):
        sides = [[at(frame, n, column, estimand, pair) for n in learners] for pair, _ in SEEDS]
        return [first - second for first, second in sides]

    gaps = differences(RECOVERY[estimand], *BOTH)
    errors = differences(COLUMNS[estimand][2], *BOTH[::-1])
    means, of_errors = ([np.nanmean(gap) for gap in each] for each in (gaps, errors))
    hold_test(found, "pp", means, 4.0)
    hold_test(found, "variance", of_errors, 0.01)
    fewest = [min(np.isfinite(gap).sum() for gap in each) for each in (gaps, errors)]
    expected = {"n_pairs": 3, "n_left_out": 0, "error_n_pairs": 3, "alpha": 0.1}
    expected |= dict(zip(("n_seeds", "error_n_seeds"), fewest, strict=True))
    expected["n_failing"] = (estimates["guards"] != "").sum()
    expected["n_diverged"] = estimates["n_diverged"].sum()
    finite = [gap[np.isfinite(gap)] for gap in gaps]
    pooled = sum(g.var() * len(g) for g in finite) / sum(len(g) - 1 for g in finite)
    expected |= {"between_sd_pp": np.std(means, ddof=1), "within_sd_pp": np.sqrt(pooled)}
    expected["error_between_sd"] = np.std(of_errors, ddof=1)
    half = stats.t.ppf(0.975, 2) * np.std(means, ddof=1) * np.sqrt(1 + 1 / 3)
    for end, sign in (("low", -1), ("high", 1)):
        expected[f"prediction_{end}_pp"] = np.mean(means) + sign * half
    fit = random_intercept(np.concatenate(gaps), np.repeat([0, 1, 2], [4, 3, 5]))
    fitted = (fit.mean, fit.low, fit.high, fit.group_sd, fit.residual_sd)
    names = ("gap", "low", "high", "pair_sd", "seed_sd")
    expected |= {f"mixed_{n}_pp": v for n, v in zip(names, fitted, strict=True)}
    assert found[[*expected]].tolist() == pytest.approx([*expected.values()])

    sound = estimates[estimates["guards"] == ""]
    for scale, mean in (("pp", "gap{}_pp"), ("variance", "error_gap{}")):
        for way in ("_frozen", "_runner_up_full", "_runner_up_immediate"):
            held(found, scale, way, estimates[mean.format(way)].to_numpy())
        held(found, scale, "_without_failing", sound[mean.format("")].to_numpy())
    mean_with_ends(found, "r2", estimates["r2_gap"], "{}_gap", "{}_t95_{}")
    for name in LEVELS:
        mean_with_ends(found, name, estimates[f"{name}_percent"])


def test_the_standard_error_is_that_over_pairs_whatever_seeds_and_rates_do():
    """Seeds that scatter and choices that are close leave it as it is: only pairs are units."""
    pairs = [(name, 3) for name in "abcdef"]
    frame = varied(pairs, rates=[("rtrl", 2), ("immediate", 1)], lost=0)
    high = (frame["learner"] == "rtrl") & (frame["learning_rate"] > 2e-4)
    wave = frame["seed"].map({0: -0.1, 1: -0.1, 2: 0.2})
    frame["recovery_heldout_percent"] = np.where(high, 60.0, 40.0) + 100 * wave * high
    frame["selected"] = (frame["learning_rate"] > 2e-4) | (frame["learner"] == "immediate")
    frame["validation_rolling_error"] = 0.71 + wave * high
    _, found = over_pairs(frame)
    assert found["gap_pp"] == pytest.approx(20) and found["within_sd_pp"] > 10
    error = found[["between_sd_pp", "standard_error_pp", "t90_low_pp"]].tolist()
    assert error == pytest.approx([0, 0, 20], abs=1e-12)
    single, found = over_pairs(varied([(name, 1) for name in "abcd"], lost=0))
    assert found["standard_error_pp"] == pytest.approx(stats.sem(single["gap_pp"]))
    assert found[["within_sd_pp", "mixed_gap_pp"]].isna().all()


def test_undefined_pairs_are_excluded_and_failing_ones_in_extra_columns_alone():
    frame = varied(SEEDS, lost=0).assign(edge=False)
    small = frame["frozen_heldout_error"] - 0.01
    small = frame["reference_error"].where(frame["pair"] != "c", small)
    estimates, found = over_pairs(frame.assign(reference_error=small))
    assert (found["n_pairs"], found["n_left_out"], found["error_n_pairs"]) == (2, 1, 3)
    assert found["gap_pp"] == pytest.approx(estimates["gap_pp"].iloc[:2].mean())
    assert found["gap_frozen_pp"] == pytest.approx(found["gap_pp"])
    assert found["error_gap"] == pytest.approx(estimates["error_gap"].mean())

    few = frame["updates"].where(frame["pair"] != "b", 5)
    estimates, found = over_pairs(frame.assign(updates=few), margin_pp=1e6)
    _, rest = over_pairs(frame[frame["pair"] != "b"], margin_pp=1e6)
    assert found["n_failing"] == (estimates["guards"] != "").sum() == 1
    assert found["gap_without_failing_pp"] != found["gap_pp"]
    for column in ("gap{}_pp", "t90_low{}_pp", "error_gap{}"):
        assert found[column.format("_without_failing")] == rest[column.format("")], column
    _, none = over_pairs(frame.assign(updates=5))
    assert none["n_failing"] == 3 and np.isnan(none["gap_without_failing_pp"])
    assert none["n_pairs"] == 3 and np.isfinite(none["gap_pp"])


def test_one_seed_has_a_gap_and_no_interval():
    found = row(varied(seeds=[("a", 1)], lost=0).assign(edge=False), margin_pp=50)
    assert found[["gap_pp", "r2_gap", "error_gap", "gap_frozen_pp"]].notna().all()
    scatter = found.filter(regex="t9|_low_|_high_|standard_error|delta_star|denominator_se")
    assert scatter.isna().all() and len(scatter) == 35
    assert found[["n_seeds", "dof", "tost_p"]].tolist() == [1, 0, 1.0]
    assert found[["error_n_seeds", "error_dof", "error_tost_p"]].tolist() == [1, 0, 1.0]
    assert not found["equivalent"] and found["guards"] == ""


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("updates", 12, "rtrl with adam makes 12 updates"),
        ("edge", True, "immediate with adam has its rate"),
        ("constant_error", 0.2, "is no lower than that of the best constant, 0.2"),
    ],
)
def test_a_failed_guard_is_named_in_every_row(column, value, words):
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
    mean_with_ends(found, "over_best_full", 100 * (zero - error) / (zero - reference))
    assert found["over_best_full_percent"] < found["recovery_full_percent"]
    # A constant as good as the reference leaves no denominator, and recovery itself keeps its own.
    found = row(frame.assign(constant_error=frame["reference_error"] + 0.04))
    mean_with_ends(found, "over_best_full", np.empty(0))
    assert found["has_meaning"] and np.isfinite(found["recovery_full_percent"])


def test_small_denominator_blanks_recovery_columns_and_leaves_error_columns():
    frame = varied(seeds=[("a", 4), ("b", 4)], lost=0)
    small = frame.assign(reference_error=frame["frozen_heldout_error"] - 0.04)
    found, usual = row(small), row(frame)
    assert not found["has_meaning"] and usual["has_meaning"]
    assert found["guards"] == usual["guards"]
    own = ("gap", "standard_error_pp", "t90", "t95", "delta", "recovery")
    lost = [c for c in found.index if c.startswith((*own, "over_best")) and c != "tost_p"]
    assert found[lost].isna().all() and usual[lost].notna().all() and len(lost) == 28
    assert found["tost_p"] == 1 and not found["equivalent"]
    kept = [c for c in found.index if c.startswith("error_")]
    assert found[kept].tolist() == usual[kept].tolist() and len(kept) == 21
    noisy = frame["frozen_heldout_error"] - np.where(frame["seed"] == 0, 1.5, 0.01)
    found = row(frame.assign(reference_error=noisy))
    assert found["denominator"] > 0.05 and np.isnan(found["gap_pp"])
