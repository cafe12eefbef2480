"""Results over pairs of sessions, against loops that draw pairs, seeds and rates one by one."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import (
    COLUMNS,
    RECOVERY,
    at,
    diverge_all,
    expanded,
    given,
    resampled,
    t_ends,
    table,
)
from scipy import stats

from orla.results import base
from orla.statistics.mixed import random_intercept

SEEDS = [("a", 4), ("b", 3), ("c", 5)]
DRAWN = [1, 4]


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


def nested(frame, estimand, seeds, resamples, seed, frozen=False):
    """Mean gap of each resample of pairs, then seeds: one pair and one seed after the other."""
    generator = np.random.default_rng(seed)
    pair = generator.integers(0, len(seeds), (resamples, len(seeds)))
    placed = np.full(pair.shape, np.nan)
    for number, (name, n) in enumerate(seeds):
        places = pair == number
        draws = generator.integers(0, n, (places.sum(), n))
        placed[places] = resampled(frame, estimand, name, draws, frozen)[0]
    return np.array([np.nanmean(row) for row in placed])


@pytest.mark.parametrize("estimand", COLUMNS)
@pytest.mark.parametrize("drawn", DRAWN)
def test_every_number_of_a_row(estimand, drawn):
    frame = varied(SEEDS, drawn=drawn, lost=0.3)
    changes = {"resamples": 200, "seed": 9, "margin_pp": 4.0, "alpha": 0.1}
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

    draws = nested(frame, estimand, SEEDS, 200, 9)
    error = max(stats.sem(means), draws.std(ddof=1) * np.sqrt(3 / 2))
    assert found["standard_error_pp"] == pytest.approx(error, rel=1e-9)
    for confidence, name in ((0.8, "t90"), (0.95, "t95")):
        half = stats.t.ppf((1 + confidence) / 2, 2) * error
        ends = found[f"{name}_low_pp"], found[f"{name}_high_pp"]
        assert ends == pytest.approx((means.mean() - half, means.mean() + half))
    for confidence, name in ((0.95, "resampled"), (0.8, "resampled_90")):
        ends = found[f"{name}_low_pp"], found[f"{name}_high_pp"]
        assert ends == pytest.approx(expanded(draws, 3, confidence), abs=1e-9)
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

    frozen = nested(frame, estimand, SEEDS, 200, 9, frozen=True)
    scored = estimates["gap_frozen_pp"].to_numpy()
    error = max(stats.sem(scored), frozen.std(ddof=1) * np.sqrt(3 / 2))
    half = stats.t.ppf(0.9, 2) * error
    assert found["gap_frozen_pp"] == pytest.approx(scored.mean())
    ends = found["t90_low_frozen_pp"], found["t90_high_frozen_pp"]
    assert ends == pytest.approx((scored.mean() - half, scored.mean() + half))
    ends_of = {f"{m}_gap": (f"{m}_t95_low", f"{m}_t95_high") for m in ("r2", "error")}
    for learner in ("full", "immediate"):
        names = tuple(f"recovery_{learner}_{end}_percent" for end in ("low", "high"))
        ends_of[f"recovery_{learner}_percent"] = names
    for column, (low, high) in ends_of.items():
        values = estimates[column].to_numpy()
        if np.isnan(values).all():
            assert estimand == "adapt" and found[[column, low, high]].isna().all()
            continue
        assert found[column] == pytest.approx(values.mean())
        assert (found[low], found[high]) == pytest.approx(t_ends(values))


def test_divergence_is_seen_in_these_rows():
    """What the test above holds to includes seeds that diverged at the chosen rate, and guards."""
    found = pd.concat([rows(varied(SEEDS, drawn=d, lost=0.3))[1] for d in DRAWN])
    assert (found["n_diverged"] > 0).any() and (found["n_failing"] > 0).any()
    assert (found["gap_frozen_pp"] != found["gap_pp"]).any()
    assert (found["n_seeds"] < 3).any()


def test_the_standard_error_is_never_below_that_over_pairs():
    frame = varied([("a", 1), ("b", 1), ("c", 1), ("d", 1)], lost=0)
    estimates, found = one(frame, resamples=4000)
    # With one seed a pair, resampling has only pairs to draw: both agree but for the draws.
    assert found["standard_error_pp"] >= stats.sem(estimates["gap_pp"])
    assert found["standard_error_pp"] == pytest.approx(stats.sem(estimates["gap_pp"]), rel=0.03)
    assert found[["within_sd_pp", "mixed_gap_pp", "other_rate_share"]].isna().all()


def test_seeds_that_disagree_about_the_rate_widen_the_interval_over_pairs():
    pairs = [(name, 3) for name in "abcdef"]
    frame = varied(pairs, rates=[("rtrl", 2), ("immediate", 1)], lost=0)
    high = (frame["learner"] == "rtrl") & (frame["learning_rate"] > 2e-4)
    frame["recovery_heldout_percent"] = np.where(high, 60.0, 40.0)
    frame["selected"] = (frame["learning_rate"] > 2e-4) | (frame["learner"] == "immediate")
    wave = frame["seed"].map({0: -0.1, 1: -0.1, 2: 0.1})
    frame["validation_error"] = 0.71 + wave * high
    _, found = one(frame, resamples=2000)
    assert found["gap_pp"] == 20 and found["between_sd_pp"] == 0
    share = 7 / 27  # of resamples of three seeds at least two are the one that disagrees
    assert found["other_rate_share"] == pytest.approx(share, abs=0.03)
    expected = 20 * np.sqrt(share * (1 - share) / 6) * np.sqrt(6 / 5)
    assert found["standard_error_pp"] == pytest.approx(expected, rel=0.1)
    assert found["t90_low_pp"] < 15 and found["resampled_low_pp"] < 12
    frame["validation_error"] = 0.71 - 0.1 * high
    _, found = one(frame, resamples=2000)
    assert found["standard_error_pp"] == 0 and found["resampled_low_pp"] == 20
    assert found["tost_p"] == 1 and not found["equivalent"]


def test_equal_pairs_have_a_stated_answer():
    frame = varied([("a", 3), ("b", 3), ("c", 3)], lost=0)
    frame["recovery_heldout_percent"] = 40.1 + 1.7 * (frame["learner"] == "rtrl")
    _, found = one(frame)
    zero = ["between_sd_pp", "within_sd_pp", "standard_error_pp", "mixed_pair_sd_pp", "tost_p"]
    assert found[[*zero, "mixed_seed_sd_pp"]].tolist() == pytest.approx([0] * 6, abs=1e-9)
    same = [c for c in found.index if c.endswith(("low_pp", "high_pp", "gap_pp"))]
    same += ["gap_frozen_pp", "gap_without_failing_pp", "t90_low_frozen_pp", "delta_star_pp"]
    assert found[same].tolist() == pytest.approx([1.7] * len(same)) and found["equivalent"]


def test_one_pair_has_a_gap_and_no_interval():
    estimates, found = one(varied([("a", 4)], lost=0))
    assert found["gap_pp"] == estimates["gap_pp"].iloc[0] == found["gap_frozen_pp"]
    assert (found["n_pairs"], found["dof"], found["tost_p"]) == (1, 0, 1.0)
    ends = [c for c in found.index if c.startswith(("t9", "resampled", "prediction", "mixed"))]
    assert found[[*ends, "between_sd_pp", "standard_error_pp", "delta_star_pp"]].isna().all()
    assert np.isfinite(found["within_sd_pp"]) and not found["equivalent"]


def test_two_pairs_have_an_interval():
    _, found = one(varied([("a", 2), ("b", 4)], lost=0))
    assert (
        found[["t90_low_pp", "resampled_low_pp", "prediction_low_pp", "mixed_low_pp"]].notna().all()
    )


def test_a_learner_that_a_pair_lacks_leaves_that_pair_out():
    frame = varied(SEEDS)
    frame = frame[~((frame["pair"] == "b") & (frame["learner"] == "rtrl"))]
    estimates, found = one(frame)
    assert list(estimates["pair"]) == ["a", "c"] and found["n_pairs"] == 2
    _, expected = one(varied(SEEDS)[lambda f: f["pair"] != "b"])
    pd.testing.assert_series_equal(found, expected)


def test_a_pair_that_always_diverges_is_left_out_counted_and_scored_as_frozen():
    frame = varied(SEEDS, lost=0)
    lost = diverge_all(frame, "rtrl", "b")
    estimates, found = one(lost)
    assert (found["n_pairs"], found["n_left_out"], found["n_diverged"]) == (2, 1, 3)
    assert found["n_seeds"] == 0 and found["dof"] == 1
    kept = estimates[estimates["pair"] != "b"]
    assert found["gap_pp"] == pytest.approx(kept["gap_pp"].mean())
    assert found["gap_frozen_pp"] == pytest.approx(estimates["gap_frozen_pp"].mean())
    assert found["gap_frozen_pp"] < found["gap_pp"] - 5
    assert found["t90_low_frozen_pp"] < found["t90_low_pp"] or found["dof"] == 1


def test_a_pair_in_which_recovery_has_no_meaning_is_left_out():
    frame = varied(SEEDS, lost=0)
    small = frame["reference_error"].where(
        frame["pair"] != "c", frame["frozen_heldout_error"] - 0.01
    )
    estimates, found = one(frame.assign(reference_error=small))
    assert (found["n_pairs"], found["n_left_out"]) == (2, 1) and found["n_failing"] >= 1
    assert found["gap_pp"] == pytest.approx(estimates["gap_pp"].iloc[:2].mean())
    assert found["gap_frozen_pp"] == pytest.approx(found["gap_pp"])
    assert found["error_gap"] == pytest.approx(estimates["error_gap"].mean())


def test_pairs_with_guards_are_also_left_out_on_demand():
    frame = varied([("a", 3), ("b", 3), ("c", 3), ("d", 3)], lost=0)
    few = frame["updates"].where(frame["pair"] != "b", 5)
    estimates, found = one(frame.assign(updates=few), margin_pp=1e6)
    _, rest = one(frame[frame["pair"] != "b"], margin_pp=1e6)
    guarded = estimates["guards"] != ""
    assert found["n_failing"] == guarded.sum()
    expected = estimates.loc[~guarded, "gap_pp"].mean()
    assert found["gap_without_failing_pp"] == pytest.approx(expected) != found["gap_pp"]
    if guarded.sum() == 1:
        for end in ("low", "high"):
            assert found[f"t90_{end}_without_failing_pp"] == rest[f"t90_{end}_pp"]
    _, none = one(frame.assign(updates=5))
    assert none["n_failing"] == 4 and np.isnan(none["gap_without_failing_pp"])
    assert none["n_pairs"] == 4 and np.isfinite(none["gap_pp"])


def test_pairs_are_drawn_and_not_seeds_alone():
    """Pairs that differ a lot and seeds that do not: the interval over pairs is wide."""
    frame = varied([(name, 5) for name in "abcd"], lost=0, rates=[("rtrl", 1), ("immediate", 1)])
    shift = frame["pair"].map({"a": -20, "b": 0, "c": 5, "d": 40}) * (frame["learner"] == "rtrl")
    frame["recovery_heldout_percent"] = 40 + shift + 0.01 * frame["seed"]
    estimates, found = one(frame)
    assert (estimates["resampled_high_pp"] - estimates["resampled_low_pp"] < 0.1).all()
    assert found["resampled_high_pp"] - found["resampled_low_pp"] > 30
    assert found["prediction_high_pp"] - found["prediction_low_pp"] > 100


def test_a_row_does_not_depend_on_the_others_or_on_the_order_of_models():
    frame = pd.concat([varied(SEEDS), varied(SEEDS, drawn=8).assign(optimizer="sgd")])
    _, whole = rows(frame.sample(frac=1, random_state=3))
    _, alone = rows(frame[frame["optimizer"] == "sgd"])
    mine = whole[whole["optimizer"] == "sgd"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone)
    assert list(whole["optimizer"]) == ["adam"] * 3 + ["sgd"] * 3
    assert list(whole["estimand"]) == list(COLUMNS) * 2 and "pair" not in whole
