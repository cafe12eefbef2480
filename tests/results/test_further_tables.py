"""Seeds' gaps, the choice of the rate, conditions over pairs, the multiverse, and added columns."""

import numpy as np
import pandas as pd
import pytest
from made_up import models, varied
from results_by_hand import (
    COLUMNS,
    FROZEN,
    RECOVERY,
    at,
    best,
    given,
    marked,
    matrix,
    t_ends,
    table,
)

from orla.results import base
from orla.study import rates
from orla.study.keys import KEYS, SETTING

SEEDS = [("a", 4), ("b", 3), ("c", 5)]


@pytest.mark.parametrize("estimand", COLUMNS)
def test_seed_gaps_hold_every_seed(estimand):
    frame = varied(SEEDS, drawn=4, lost=0.3)
    found = table("seed_gaps", frame.sample(frac=1, random_state=1))
    found = found[(found["estimand"] == estimand) & (found["pair"] == "a")]
    assert list(found["seed"]) == [0, 1, 2, 3]
    both = "rtrl", "immediate"
    full, immediate = (at(frame, one, RECOVERY[estimand], estimand) for one in both)
    _, _, error, r2 = COLUMNS[estimand]
    lost = [at(frame, one, "diverged", estimand) == 1 for one in both]
    nothing = np.full(4, np.nan)
    expected = {
        "gap_pp": full - immediate,
        "recovery_full_percent": full,
        "recovery_immediate_percent": immediate,
        "error_gap": np.subtract(*(at(frame, one, error, estimand) for one in both)),
        "r2_gap": np.subtract(*(at(frame, one, r2, estimand) for one in both)) if r2 else nothing,
        "denominator": at(frame, "rtrl", FROZEN[estimand], estimand)
        - at(frame, "rtrl", "reference_error", estimand),
        "diverged": lost[0] | lost[1],
    }
    for column, values in expected.items():
        np.testing.assert_array_equal(found[column].to_numpy(), values, err_msg=column)
    assert found["diverged"].any() and found["diverged"].dtype == bool


@pytest.mark.parametrize("estimand", COLUMNS)
def test_the_choice_of_a_rate_is_resampled(estimand):
    frame = varied(SEEDS, drawn=1, lost=0.3)
    found = table("selection", frame, resamples=300, seed=5)
    assert len(found) == 2 * 3 * 3
    for (learner, pair), some in frame.groupby(["learner", "pair"]):
        mine = found[(found["learner"] == learner) & (found["pair"] == pair)]
        row = mine[mine["estimand"] == estimand].iloc[0]
        validation = matrix(frame, learner, COLUMNS[estimand][1], pair)
        n, at_rate = len(validation), marked(frame, learner, estimand, pair)
        grid = np.sort(some["learning_rate"].unique())
        draws = np.random.default_rng(5).integers(0, n, (300, n))
        chosen = np.array([best(validation[draw]) for draw in draws])
        others = chosen[chosen != at_rate]
        assert row["other_rate_share"] == pytest.approx(len(others) / 300)
        if len(others):
            assert row["next_rate"] == grid[np.bincount(others).argmax()]
        else:
            assert np.isnan(row["next_rate"])
        assert (row["learning_rate"], row["n_seeds"]) == (grid[at_rate], n)
        edge = "edge_stable" if estimand == "stable" else "edge"
        assert row["edge"] == some[edge].iloc[0]
        recovery = matrix(frame, learner, RECOVERY[estimand], pair)
        on_test = best(matrix(frame, learner, COLUMNS[estimand][2], pair))
        price = np.nanmean(recovery[:, on_test] - recovery[:, at_rate])
        assert row["price_pp"] == pytest.approx(price, abs=1e-10)
    assert found["other_rate_share"].between(0.01, 0.99).any() and found["edge"].nunique() == 2


def test_one_seed_says_nothing_about_the_choice():
    row = table("selection", varied([("a", 1)], lost=0)).iloc[0]
    assert np.isnan([row["other_rate_share"], row["next_rate"]]).all() and row["n_seeds"] == 1


def test_a_rate_that_all_seeds_agree_on_has_no_next():
    frame = varied([("a", 4)], lost=0)
    frame["validation_error"] = np.where(frame["selected"], 0.1, 0.9)
    found = table("selection", frame)
    found = found[found["estimand"] == "heldout"]
    assert (found["other_rate_share"] == 0).all() and found["next_rate"].isna().all()


def test_a_rate_at_which_one_seed_diverged_is_chosen_where_that_seed_is_not_drawn():
    validation = np.array([[0.5, 0.3], [0.5, 0.3], [0.5, np.nan]])
    frame = varied([("a", 3)], rates=[("rtrl", 2), ("immediate", 2)], lost=0)
    for seed, rate in np.ndindex(3, 2):
        where = (frame["seed"] == seed) & (frame["learning_rate"] == 10.0 ** (rate - 4))
        frame.loc[where, "validation_error"] = validation[seed, rate]
    frame["selected"] = frame["learning_rate"] == 1e-4
    found = table("selection", frame, resamples=4000)
    assert rates.best({i: validation[:, i] for i in range(2)}) == 0
    assert found["other_rate_share"].iloc[0] == pytest.approx((2 / 3) ** 3, abs=0.03)
    assert found["next_rate"].iloc[0] == 1e-3


@pytest.mark.parametrize("estimand", COLUMNS)
def test_conditions_over_pairs(estimand):
    frame = varied(SEEDS, drawn=4, lost=0.3)
    found = table("conditions_over_pairs", frame)
    assert "pair" not in found and list(found["learner"].unique()) == ["immediate", "rtrl"]
    for learner in ("rtrl", "immediate"):
        row = found[(found["learner"] == learner) & (found["estimand"] == estimand)].iloc[0]
        of = [np.nanmean(at(frame, learner, RECOVERY[estimand], estimand, p)) for p in "abc"]
        assert (row["n_pairs"], row["recovery_percent"]) == (3, pytest.approx(np.mean(of)))
        ends = row["t95_low_percent"], row["t95_high_percent"]
        assert ends == pytest.approx(t_ends(np.array(of)))
        r2 = COLUMNS[estimand][3]
        if r2 is None:
            assert row[["r2_mean", "r2_t95_low", "r2_t95_high"]].isna().all()
            continue
        of = np.array([np.nanmean(at(frame, learner, r2, estimand, p)) for p in "abc"])
        assert row["r2_mean"] == pytest.approx(of.mean())
        assert (row["r2_t95_low"], row["r2_t95_high"]) == pytest.approx(t_ends(of))


def test_a_pair_without_a_meaning_of_recovery_is_in_no_mean_of_it():
    frame = varied(SEEDS, lost=0)
    near = frame["frozen_heldout_error"] - 0.01
    frame["reference_error"] = frame["reference_error"].where(frame["pair"] != "c", near)
    frame.loc[frame["pair"] == "c", "recovery_heldout_percent"] = 1e6
    row = table("conditions_over_pairs", frame).iloc[0]
    assert row["estimand"] == "heldout" and row["n_pairs"] == 2 and row["recovery_percent"] < 1e3
    of = [at(frame, "immediate", "r2_mean", "heldout", p).mean() for p in "abc"]
    assert row["r2_mean"] == pytest.approx(np.mean(of))
    alone = table("conditions_over_pairs", frame[frame["pair"] == "a"]).iloc[0]
    assert alone["n_pairs"] == 1 and np.isnan(alone["t95_low_percent"])


def test_the_multiverse_holds_every_metric_and_step():
    frame = varied([("a", 4), ("b", 3)], drawn=2)
    late = frame[frame["selected"]].assign(horizon_steps=9000)
    late["recovery_heldout_percent"] += 3.0 * (late["learner"] == "rtrl")
    early = frame[frame["selected"]].assign(horizon_steps=5000)
    tables = {"models": frame, "horizon": pd.concat([late, early])}
    for name in base.in_order(["multiverse"]):
        tables[name] = base.build(name, tables, given())
    found, estimates = tables["multiverse"], tables["estimates"]
    assert len(found) == 2 * (3 + 2 + 2)
    mine = found[found["pair"] == "a"].drop(columns=list(SETTING))
    assert (mine["comparison"] == "per_step").all()
    rows = {
        (m, s): (gap, low, high, unit)
        for m, s, gap, low, high, unit in mine[
            ["metric", "freezing_step", "gap", "low", "high", "unit"]
        ].itertuples(index=False)
        if s == s
    }
    ended = {row["metric"]: row for _, row in mine[mine["freezing_step"].isna()].iterrows()}
    of = {row["estimand"]: row for _, row in estimates[estimates["pair"] == "a"].iterrows()}
    assert set(ended) == {"heldout", "stable", "adapt", "r2", "error"}
    for name in ("heldout", "stable", "adapt"):
        ends = of[name][["gap_pp", "t95_low_pp", "t95_high_pp"]].tolist()
        assert ended[name][["gap", "low", "high", "unit"]].tolist() == [*ends, "pp"]
    for name, unit in (("r2", "R2"), ("error", "error")):
        row = of["heldout"]
        ends = [row[f"{name}_gap"], row[f"{name}_t95_low"], row[f"{name}_t95_high"]]
        assert ended[name][["gap", "low", "high", "unit"]].tolist() == [*ends, unit]
    assert set(rows) == {("heldout", 5000), ("heldout", 9000)}
    heldout = of["heldout"]
    usual = heldout["gap_pp"], heldout["t95_low_pp"], heldout["t95_high_pp"], "pp"
    assert rows["heldout", 5000] == pytest.approx(usual)
    assert rows["heldout", 9000][:3] == pytest.approx(tuple(np.array(usual[:3], float) + 3))


def test_added_columns_of_gaps():
    frame = models(["rtrl", "immediate"], seeds=5)
    row = table("gaps", frame, alpha=0.02).iloc[0]
    chosen = frame[frame["selected"]].set_index("seed")
    full, immediate = (chosen[chosen["learner"] == one] for one in ("rtrl", "immediate"))
    for measure, names in {
        "recovery_heldout_percent": ("gap_pp", "t95_low_pp", "t95_high_pp"),
        "recovery_adapt_percent": ("adapt_gap_pp", "adapt_t95_low_pp", "adapt_t95_high_pp"),
    }.items():
        gap = (full[measure] - immediate[measure]).to_numpy()
        assert row[list(names)].tolist() == pytest.approx([gap.mean(), *t_ends(gap)])
    assert row["alpha"] == 0.02
    one = table("gaps", frame[frame["seed"] == 0]).iloc[0]
    assert np.isnan([one["t95_low_pp"], one["adapt_t95_high_pp"]]).all() and one["adapt_gap_pp"]


def test_added_columns_of_conditions_and_horizons():
    frame = models(["rtrl", "immediate"], seeds=5)
    row = table("conditions", frame).set_index("learner").loc["rtrl"]
    chosen = frame[frame["selected"] & (frame["learner"] == "rtrl")]
    for measure, names in {
        "recovery_heldout_percent": ("t95_low_percent", "t95_high_percent"),
        "recovery_adapt_percent": ("adapt_t95_low_percent", "adapt_t95_high_percent"),
    }.items():
        assert row[list(names)].tolist() == pytest.approx(t_ends(chosen[measure].to_numpy()))
    horizon = frame[frame["selected"]].assign(horizon_steps=5000)
    found = base.build("horizon_gaps", {"horizon": horizon}, given()).iloc[0]
    gaps = table("gaps", frame).iloc[0]
    names = ["gap_pp", "low_pp", "t95_low_pp", "t95_high_pp"]
    assert found[names].tolist() == gaps[names].tolist()


def test_columns_that_registrations_read_stand_first_and_in_their_order():
    """The six locked registrations read these."""
    first = {
        "gaps": "n_seeds n_diverged gap_pp low_pp high_pp t90_low_pp t90_high_pp margin_pp tost_p"
        " delta_star_pp equivalent unreliable r2_gap error_gap t95_low_pp",
        "conditions": "learning_rate edge n_seeds n_diverged recovery_percent low_percent"
        " high_percent adapt_recovery_percent adapt_low_percent adapt_high_percent r2_mean"
        " r2_weighted update_ratio update_ratio_low update_ratio_high unreliable"
        " recovery_vs_rtrl_percent recovery_vs_rtrl_low_percent recovery_vs_rtrl_high_percent"
        " t95_low_percent",
        "horizon_gaps": "horizon_steps n_seeds gap_pp low_pp high_pp t95_low_pp",
    }
    for name, columns in first.items():
        declared = [c for c in base.columns()[name] if c not in KEYS]
        declared = [c for c in declared if not c.startswith(("comparison", "learner_"))]
        assert declared[: len(columns.split())] == columns.split()
