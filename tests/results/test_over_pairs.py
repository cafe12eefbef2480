"""Results over pairs of sessions, against numbers worked out from each pair."""

import numpy as np
import pytest
from made_up import varied
from results_by_hand import COLUMNS, RECOVERY, at, given, t_ends, table
from scipy import stats

from orla.results import base
from orla.statistics.mixed import random_intercept

SEEDS = [("a", 4), ("b", 3), ("c", 5)]
DRAWN = [1, 4]
NOTHING = [np.nan] * 3


def rows(frame, **changes):
    """The table of estimates, then that over pairs."""
    estimates = table("estimates", frame, **changes)
    tables = {"models": frame, "estimates": estimates}
    return estimates, base.build("over_pairs", tables, given(**changes))


def one(frame, estimand="heldout", **changes):
    estimates, found = rows(frame, **changes)
    found = found[found["estimand"] == estimand]
    assert len(found) == 1
    return estimates[estimates["estimand"] == estimand], found.iloc[0]


@pytest.mark.parametrize("estimand", COLUMNS)
@pytest.mark.parametrize("drawn", DRAWN)
def test_every_number_of_a_row(estimand, drawn):
    frame = varied(SEEDS, drawn=drawn, lost=0.3)
    changes = {"resamples": 200, "seed": 9, "margin_pp": 4.0, "alpha": 0.1}
    changes["margin_variance"] = 0.01
    estimates, found = one(frame.sample(frac=1, random_state=drawn), estimand, **changes)
    gaps = {
        pair: np.subtract(
            *(at(frame, n, RECOVERY[estimand], estimand, pair) for n in ("rtrl", "immediate"))
        )
        for pair, _ in SEEDS
    }
    finite = {pair: gap[np.isfinite(gap)] for pair, gap in gaps.items()}
    means = np.array([gap.mean() for gap in finite.values()])
    assert found["n_pairs"] == 3 and found["n_left_out"] == 0 and found["dof"] == 2
    assert found["n_seeds"] == min(len(gap) for gap in finite.values())
    assert found["n_failing"] == (estimates["guards"] != "").sum()
    assert found["n_diverged"] == estimates["n_diverged"].sum()
    assert found["gap_pp"] == pytest.approx(means.mean(), abs=1e-10)
    assert found["between_sd_pp"] == pytest.approx(means.std(ddof=1))
    pooled = sum(((g - g.mean()) ** 2).sum() for g in finite.values())
    pooled /= sum(len(g) - 1 for g in finite.values())
    assert found["within_sd_pp"] == pytest.approx(np.sqrt(pooled))

    error = stats.sem(means)
    assert found["standard_error_pp"] == pytest.approx(error, rel=1e-9)
    for confidence, name in ((0.8, "t90"), (0.95, "t95")):
        ends = found[f"{name}_low_pp"], found[f"{name}_high_pp"]
        assert ends == pytest.approx(t_ends(means, confidence))
    half = stats.t.ppf(0.975, 2) * means.std(ddof=1) * np.sqrt(1 + 1 / 3)
    ends = found["prediction_low_pp"], found["prediction_high_pp"]
    assert ends == pytest.approx((means.mean() - half, means.mean() + half))
    p = max(stats.t.sf((means.mean() + 4) / error, 2), stats.t.cdf((means.mean() - 4) / error, 2))
    assert found["tost_p"] == pytest.approx(p) and found["equivalent"] == (p < 0.1)
    star = max(abs(found["t90_low_pp"]), abs(found["t90_high_pp"]))
    assert found["delta_star_pp"] == pytest.approx(star)
    assert (found["margin_pp"], found["alpha"]) == (4.0, 0.1)
    assert found["other_rate_share"] == pytest.approx(estimates["other_rate_share"].mean())

    fit = random_intercept(np.concatenate(list(gaps.values())), np.repeat([0, 1, 2], [4, 3, 5]))
    mixed = [found[f"mixed_{name}_pp"] for name in ("gap", "low", "high", "pair_sd", "seed_sd")]
    assert mixed == pytest.approx([fit.mean, fit.low, fit.high, fit.group_sd, fit.residual_sd])

    errors = {
        pair: np.subtract(
            *(at(frame, n, COLUMNS[estimand][2], estimand, pair) for n in ("immediate", "rtrl"))
        )
        for pair, _ in SEEDS
    }
    means = np.array([np.nanmean(gap) for gap in errors.values()])
    assert (found["error_n_pairs"], found["error_dof"]) == (3, 2)
    assert found["error_n_seeds"] == min(np.isfinite(gap).sum() for gap in errors.values())
    assert found["error_gap"] == pytest.approx(means.mean(), abs=1e-12)
    assert found["error_standard_error"] == pytest.approx(stats.sem(means))
    assert found["error_between_sd"] == pytest.approx(means.std(ddof=1))
    for confidence, name in ((0.8, "t90"), (0.95, "t95")):
        ends = found[f"error_{name}_low"], found[f"error_{name}_high"]
        assert ends == pytest.approx(t_ends(means, confidence))
    p = max(stats.ttest_1samp(means, -0.01, alternative="greater").pvalue,
            stats.ttest_1samp(means, 0.01, alternative="less").pvalue)  # fmt: skip
    assert found["error_tost_p"] == pytest.approx(p) and found["error_equivalent"] == (p < 0.1)

    sound = estimates[estimates["guards"] == ""]
    for mean, end in (("gap{}_pp", "t90_{}{}_pp"), ("error_gap{}", "error_t90_{}{}")):
        for way in ("_frozen", "_runner_up_full", "_runner_up_immediate", "_without_failing"):
            values = estimates[mean.format(way)] if "failing" not in way else sound[mean.format("")]
            names = [end.format(at, way) for at in ("low", "high")]
            expected = [values.mean(), *t_ends(values.to_numpy(), 0.8)] if len(values) else NOTHING
            found_at = found[[mean.format(way), *names]].tolist()
            assert found_at == pytest.approx(expected, nan_ok=True)
    ends_of = {"r2_gap": ("r2_t95_low", "r2_t95_high")}
    for name in (f"{m}_{s}" for m in ("recovery", "over_best") for s in ("full", "immediate")):
        ends_of[f"{name}_percent"] = tuple(f"{name}_{end}_percent" for end in ("low", "high"))
    for column, (low, high) in ends_of.items():
        values = estimates[column].to_numpy()
        if np.isnan(values).all():
            assert estimand == "adapt" and found[[column, low, high]].isna().all()
            continue
        assert found[column] == pytest.approx(values.mean())
        assert (found[low], found[high]) == pytest.approx(t_ends(values))


def test_the_standard_error_is_that_over_pairs_whatever_seeds_and_rates_do():
    """Seeds that scatter and choices that are close leave it as it is: only pairs are units."""
    pairs = [(name, 3) for name in "abcdef"]
    frame = varied(pairs, rates=[("rtrl", 2), ("immediate", 1)], lost=0)
    high = (frame["learner"] == "rtrl") & (frame["learning_rate"] > 2e-4)
    wave = frame["seed"].map({0: -0.1, 1: -0.1, 2: 0.2})
    frame["recovery_heldout_percent"] = np.where(high, 60.0, 40.0) + 100 * wave * high
    frame["selected"] = (frame["learning_rate"] > 2e-4) | (frame["learner"] == "immediate")
    frame["validation_rolling_error"] = 0.71 + wave * high
    _, found = one(frame)
    assert found["gap_pp"] == pytest.approx(20) and found["within_sd_pp"] > 10
    assert found["other_rate_share"] > 0.2
    error = found[["between_sd_pp", "standard_error_pp", "t90_low_pp"]].tolist()
    assert error == pytest.approx([0, 0, 20], abs=1e-12)
    single, found = one(varied([(name, 1) for name in "abcd"], lost=0))
    assert found["standard_error_pp"] == pytest.approx(stats.sem(single["gap_pp"]))
    assert found[["within_sd_pp", "mixed_gap_pp", "other_rate_share"]].isna().all()


def test_a_pair_in_which_recovery_has_no_meaning_is_left_out():
    frame = varied(SEEDS, lost=0)
    small = frame["reference_error"].where(
        frame["pair"] != "c", frame["frozen_heldout_error"] - 0.01
    )
    estimates, found = one(frame.assign(reference_error=small))
    assert (found["n_pairs"], found["n_left_out"], found["error_n_pairs"]) == (2, 1, 3)
    assert found["n_failing"] == (estimates["guards"] != "").sum()
    assert found["gap_pp"] == pytest.approx(estimates["gap_pp"].iloc[:2].mean())
    assert found["gap_frozen_pp"] == pytest.approx(found["gap_pp"])
    assert found["error_gap"] == pytest.approx(estimates["error_gap"].mean())


def test_pairs_with_guards_are_also_left_out_on_demand():
    frame = varied([("a", 3), ("b", 3), ("c", 3), ("d", 3)], lost=0).assign(edge=False)
    few = frame["updates"].where(frame["pair"] != "b", 5)
    estimates, found = one(frame.assign(updates=few), margin_pp=1e6)
    _, rest = one(frame[frame["pair"] != "b"], margin_pp=1e6)
    assert found["n_failing"] == (estimates["guards"] != "").sum() == 1
    assert found["gap_without_failing_pp"] != found["gap_pp"]
    for without, name in (("gap{}_pp", "gap"), ("t90_low{}_pp", "t90_low"), ("error_gap{}", "")):
        assert found[without.format("_without_failing")] == rest[without.format("")], name
    _, none = one(frame.assign(updates=5))
    assert none["n_failing"] == 4 and np.isnan(none["gap_without_failing_pp"])
    assert none["n_pairs"] == 4 and np.isfinite(none["gap_pp"])
