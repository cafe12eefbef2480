"""The comparison tables against numbers worked out by hand and by plain loops."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orla.errors import OrlaError
from orla.statistics import comparisons
from orla.statistics.comparisons import COLUMNS, COMPARISONS, Resampling

FEW = Resampling(resamples=500)
LEARNERS = ["immediate", "immediate-200", "tbptt-200-200", "rtrl", "last-layer"]
RATES = [1e-3, 1e-2]


def models(learners=LEARNERS, optimizers=("adam",), splits=("80-20",), seeds=5, architecture="rnn"):
    """Every model of some conditions: two rates, the first selected, the second better on test."""
    generator = np.random.default_rng(11)
    rows = []
    for learner in learners:
        for optimizer in optimizers:
            for split in splits:
                for seed in range(seeds):
                    for rate in RATES:
                        recovery = generator.normal(40, 5) + 2 * (rate == RATES[1])
                        rows.append(
                            {
                                "architecture": architecture,
                                "learner": learner,
                                "optimizer": optimizer,
                                "precision": "float64",
                                "split": split,
                                "seed": seed,
                                "learning_rate": rate,
                                "diverged": False,
                                "selected": rate == RATES[0],
                                "selected_on_test": rate == RATES[1],
                                "edge": False,
                                "unreliable": False,
                                "recovery_heldout_percent": recovery,
                                "recovery_adapt_percent": recovery + 20,
                                "r2_mean": recovery / 100,
                                "r2_weighted": recovery / 90,
                                "update_ratio": np.nan
                                if learner == "last-layer"
                                else generator.uniform(4, 10),
                            }
                        )
    return pd.DataFrame(rows)


def recoveries(frame, learner, **where):
    rows = frame[(frame["learner"] == learner) & frame["selected"]]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.sort_values("seed")["recovery_heldout_percent"].to_numpy()


def set_selected(frame, learner, seed, **values):
    where = (frame["learner"] == learner) & (frame["seed"] == seed) & frame["selected"]
    assert where.sum() == 1
    for column, value in values.items():
        frame.loc[where, column] = value
    return frame


def diverge(frame, learner, seed):
    measures = ["recovery_heldout_percent", "recovery_adapt_percent", "update_ratio"]
    measures += ["r2_mean", "r2_weighted"]
    return set_selected(frame, learner, seed, diverged=True, **dict.fromkeys(measures, np.nan))


def one(table, **where):
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]


TABLES = {
    "conditions": lambda f: comparisons.conditions(f, FEW),
    "gaps": lambda f: comparisons.gaps(f, resampling=FEW),
    "gap_seeds": comparisons.gap_seeds,
    "selection_price": lambda f: comparisons.selection_price(f, FEW),
    "ratio_gap": lambda f: comparisons.ratio_gap(f, resampling=FEW),
    "ratio_gap_order": lambda f: comparisons.ratio_gap_order(f, resampling=FEW),
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_and_indifference_to_the_order_of_rows(name):
    frame = models(optimizers=["sgd", "adam", "lars"])
    table = TABLES[name](frame)
    assert list(table.columns) == COLUMNS[name] and len(table)
    shuffled = TABLES[name](frame.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(table, shuffled)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_nothing_keeps_its_columns(name):
    table = TABLES[name](models().iloc[:0])
    assert list(table.columns) == COLUMNS[name] and table.empty


@pytest.mark.parametrize("name", TABLES)
def test_input_is_left_as_it_was(name):
    frame = models()
    before = frame.copy()
    TABLES[name](frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(("comparison", "learners"), COMPARISONS.items())
def test_each_gap_is_first_minus_second_paired_by_seed(comparison, learners):
    frame = models(splits=["50-50", "80-20"])
    row = one(comparisons.gaps(frame, resampling=FEW), comparison=comparison, split="50-50")
    full, immediate = (recoveries(frame, learner, split="50-50") for learner in learners)
    assert (row["learner_full"], row["learner_immediate"]) == learners
    assert row["gap_pp"] == pytest.approx((full - immediate).mean(), abs=1e-12)
    assert (row["n_seeds"], row["n_diverged"]) == (5, 0)
    assert row["low_pp"] < row["gap_pp"] < row["high_pp"]
    low, high = stats.t.interval(0.9, 4, row["gap_pp"], stats.sem(full - immediate))
    assert (row["t90_low_pp"], row["t90_high_pp"]) == pytest.approx((low, high), abs=1e-12)
    assert row["delta_star_pp"] == pytest.approx(max(abs(low), abs(high)), abs=1e-12)
    p_low = stats.ttest_1samp(full - immediate, -3, alternative="greater").pvalue
    p_high = stats.ttest_1samp(full - immediate, 3, alternative="less").pvalue
    assert row["tost_p"] == pytest.approx(max(p_low, p_high), abs=1e-12)
    assert row["equivalent"] == (row["delta_star_pp"] < 3)


def test_the_two_by_two_is_additive():
    rows = comparisons.gaps(models(), resampling=FEW).set_index("comparison")["gap_pp"]
    assert rows["paper"] == pytest.approx(rows["per_step"] + rows["cadence_full"], abs=1e-12)
    assert rows["paper"] == pytest.approx(rows["per_window"] + rows["cadence_immediate"], abs=1e-12)
    assert rows["paper"] != pytest.approx(rows["per_step"] + rows["cadence_immediate"], abs=1e-3)


def test_a_tight_gap_is_equivalent_and_a_wider_one_is_not():
    frame = models(["immediate", "tbptt-200-200"], seeds=6)
    shift = frame["seed"].map(dict(enumerate([1.0, -1.0, 0.5, -0.5, 0.2, 0.0])))
    base = 40 + frame["seed"].astype(float)
    full = frame["learner"] == "tbptt-200-200"
    frame["recovery_heldout_percent"] = base + shift.where(full, 0.0)
    row = one(comparisons.gaps(frame, resampling=FEW), comparison="paper")
    assert row["equivalent"] and row["tost_p"] < 0.05 and row["delta_star_pp"] < 1
    frame.loc[full, "recovery_heldout_percent"] += 2.9
    row = one(comparisons.gaps(frame, resampling=FEW), comparison="paper")
    assert not row["equivalent"] and row["tost_p"] > 0.05
    assert one(comparisons.gaps(frame, margin_pp=6.0, resampling=FEW), comparison="paper")[
        "equivalent"
    ]


def test_only_selected_models_count():
    frame = models()
    tables = TABLES["gaps"](frame)
    frame.loc[~frame["selected"], "recovery_heldout_percent"] = 1e9
    pd.testing.assert_frame_equal(tables, TABLES["gaps"](frame))


def test_a_diverged_seed_is_left_out_and_counted():
    frame = diverge(models(), "tbptt-200-200", seed=2)
    gaps = comparisons.gaps(frame, resampling=FEW)
    row = one(gaps, comparison="paper")
    kept = np.array([0, 1, 3, 4])
    difference = recoveries(frame, "tbptt-200-200")[kept] - recoveries(frame, "immediate")[kept]
    assert (row["n_seeds"], row["n_diverged"]) == (4, 1)
    assert row["gap_pp"] == pytest.approx(difference.mean(), abs=1e-12)
    assert one(gaps, comparison="per_step")["n_diverged"] == 0
    condition = one(comparisons.conditions(frame, FEW), learner="tbptt-200-200")
    assert (condition["n_seeds"], condition["n_diverged"]) == (4, 1)
    assert condition["recovery_percent"] == pytest.approx(
        np.nanmean(recoveries(frame, "tbptt-200-200")), abs=1e-12
    )
    points = comparisons.gap_seeds(frame)
    assert sorted(points[points["comparison"] == "paper"]["seed"]) == [0, 1, 3, 4]
    ratio = one(comparisons.ratio_gap(frame, resampling=FEW))
    assert ratio["n_seeds"] == 4 and ratio["gap_pp"] == row["gap_pp"]


def test_a_condition_that_always_diverges_has_a_row_without_numbers():
    frame = models()
    for seed in range(5):
        diverge(frame, "rtrl", seed)
    row = one(comparisons.gaps(frame, resampling=FEW), comparison="per_step")
    assert (row["n_seeds"], row["n_diverged"]) == (0, 5)
    assert np.isnan(row["gap_pp"]) and not row["equivalent"] and row["tost_p"] == 1.0
    condition = one(comparisons.conditions(frame, FEW), learner="rtrl")
    assert condition["n_diverged"] == 5 and np.isnan(condition["recovery_percent"])


def test_one_seed_has_a_gap_but_no_interval_and_no_equivalence():
    frame = models(seeds=1)
    row = one(comparisons.gaps(frame, resampling=FEW), comparison="paper")
    expected = recoveries(frame, "tbptt-200-200") - recoveries(frame, "immediate")
    assert row["gap_pp"] == pytest.approx(expected[0])
    assert row[["low_pp", "high_pp", "t90_low_pp", "t90_high_pp", "delta_star_pp"]].isna().all()
    assert row["tost_p"] == 1.0 and not row["equivalent"]


def test_a_missing_learner_takes_only_its_own_comparisons_along():
    table = comparisons.gaps(models(["immediate", "rtrl"]), resampling=FEW)
    assert list(table["comparison"]) == ["per_step"]


def test_pairs_are_the_seeds_that_both_ran():
    frame = models(["immediate", "rtrl"], seeds=6)
    frame = frame[~((frame["learner"] == "rtrl") & (frame["seed"] >= 3))]
    row = one(comparisons.gaps(frame, resampling=FEW))
    assert (row["n_seeds"], row["n_diverged"]) == (3, 0)
    expected = recoveries(frame, "rtrl") - recoveries(frame, "immediate")[:3]
    assert row["gap_pp"] == pytest.approx(expected.mean(), abs=1e-12)


@pytest.mark.parametrize("learner", ["tbptt-200-200", "immediate"])
def test_an_unreliable_denominator_marks_what_it_touches(learner):
    frame = set_selected(models(), learner, 3, unreliable=True)
    gaps = comparisons.gaps(frame, resampling=FEW)
    assert one(gaps, comparison="paper")["unreliable"]
    touched = {name for name, pair in COMPARISONS.items() if learner in pair}
    assert set(gaps.loc[gaps["unreliable"], "comparison"]) == touched
    marked = comparisons.conditions(frame, FEW)
    assert list(marked.loc[marked["unreliable"], "learner"]) == [learner]


def test_conditions_hold_means_and_mark_the_edge():
    frame = set_selected(models(), "rtrl", 0, edge=True)
    row = one(comparisons.conditions(frame, FEW), learner="rtrl")
    held = recoveries(frame, "rtrl")
    assert row["learning_rate"] == RATES[0] and row["edge"]
    assert row["recovery_percent"] == pytest.approx(held.mean())
    assert row["adapt_recovery_percent"] == pytest.approx(held.mean() + 20)
    assert row["r2_mean"] == pytest.approx(held.mean() / 100)
    assert row["r2_weighted"] == pytest.approx(held.mean() / 90)
    assert row["update_ratio_low"] < row["update_ratio"] < row["update_ratio_high"]
    assert not one(comparisons.conditions(frame, FEW), learner="immediate")["edge"]


def test_a_learner_that_leaves_the_recurrent_weights_has_no_ratio():
    row = one(comparisons.conditions(models(), FEW), learner="last-layer")
    assert row[["update_ratio", "update_ratio_low", "update_ratio_high"]].isna().all()
    assert row["n_diverged"] == 0


def test_selection_price_is_test_selected_minus_validation_selected():
    frame = models(["immediate"])
    row = one(comparisons.selection_price(frame, FEW))
    wide = frame.pivot(index="seed", columns="learning_rate", values="recovery_heldout_percent")
    price = (wide[RATES[1]] - wide[RATES[0]]).to_numpy()
    assert row["recovery_validation_selected_percent"] == pytest.approx(wide[RATES[0]].mean())
    assert row["recovery_test_selected_percent"] == pytest.approx(wide[RATES[1]].mean())
    assert row["price_pp"] == pytest.approx(price.mean())
    assert (row["learning_rate"], row["learning_rate_test"]) == tuple(RATES)
    assert row["low_pp"] <= row["price_pp"] <= row["high_pp"] and row["n_seeds"] == 5


def test_selecting_the_same_rate_twice_costs_nothing():
    frame = models(["immediate"])
    frame["selected_on_test"] = frame["selected"]
    row = one(comparisons.selection_price(frame, FEW))
    assert (row["price_pp"], row["low_pp"], row["high_pp"]) == (0, 0, 0)


def ordered(gap_of):
    """Four optimizers with the paper's ratios and gaps set by `gap_of(optimizer, seed)`."""
    ratios = {"sgd": 4.30, "adafactor": 4.82, "adam": 6.20, "lars": 10.49}
    frame = models(["immediate", "tbptt-200-200"], optimizers=ratios)
    frame["update_ratio"] = frame["optimizer"].map(ratios)
    full = frame["learner"] == "tbptt-200-200"
    gap = [gap_of(o, s) for o, s in zip(frame["optimizer"], frame["seed"], strict=True)]
    frame["recovery_heldout_percent"] = 40 + frame["seed"] + np.where(full, gap, 0.0)
    return frame


PAPER_GAPS = {"sgd": -10, "adafactor": -7, "adam": 0, "lars": 20}


def test_the_papers_ordering_is_perfect():
    frame = ordered(lambda optimizer, seed: PAPER_GAPS[optimizer] + 0.1 * seed)
    row = one(comparisons.ratio_gap_order(frame, resampling=FEW))
    assert (row["spearman"], row["low"], row["high"]) == (1, 1, 1)
    assert (row["n_optimizers"], row["n_seeds"]) == (4, 5)
    turned = ordered(lambda optimizer, seed: -PAPER_GAPS[optimizer])
    assert one(comparisons.ratio_gap_order(turned, resampling=FEW))["spearman"] == -1


def test_seeds_that_disagree_widen_the_ordering():
    frame = ordered(lambda optimizer, seed: PAPER_GAPS[optimizer] * (-1) ** seed)
    row = one(comparisons.ratio_gap_order(frame, resampling=FEW))
    assert row["low"] < 0 < row["high"]


def test_an_optimizer_that_always_diverges_leaves_the_ordering():
    frame = ordered(lambda optimizer, seed: PAPER_GAPS[optimizer] + 0.1 * seed)
    lost = (frame["optimizer"] == "sgd") & (frame["learner"] == "tbptt-200-200")
    frame.loc[lost, ["recovery_heldout_percent", "update_ratio"]] = np.nan
    assert one(comparisons.ratio_gap_order(frame, resampling=FEW))["n_optimizers"] == 3
    frame = frame[frame["optimizer"].isin(["sgd", "adam", "lars"])]
    assert comparisons.ratio_gap_order(frame, resampling=FEW).empty


def test_horizon_gaps():
    frame = models(["immediate", "tbptt-200-200"])
    frame = frame[frame["selected"]]
    horizon = pd.concat([frame.assign(horizon_steps=steps) for steps in (11000, 5000)])
    late = (horizon["horizon_steps"] == 11000) & (horizon["learner"] == "tbptt-200-200")
    horizon.loc[late, "recovery_heldout_percent"] += 7
    horizon = horizon[
        [*comparisons.CONDITION, "seed", "horizon_steps", "learning_rate"]
        + ["recovery_heldout_percent"]
    ]
    table = comparisons.horizon_gaps(horizon, resampling=FEW)
    assert list(table.columns) == COLUMNS["horizon_gaps"]
    assert list(table["horizon_steps"]) == [5000, 11000]
    assert table["gap_pp"].diff().iloc[1] == pytest.approx(7)
    assert (table["n_seeds"] == 5).all()


def test_bad_tables_are_named():
    with pytest.raises(OrlaError, match="lacks the column update_ratio"):
        comparisons.gaps(models().drop(columns="update_ratio"))
    both = models()
    both["selected"] = True
    with pytest.raises(OrlaError, match=r"rnn/immediate/adam.* marks 2 learning rates"):
        comparisons.conditions(both)
    twice = models()
    with pytest.raises(OrlaError, match="seed 0 occurs twice"):
        comparisons.gaps(pd.concat([twice, twice.iloc[:1]]))


def test_ten_thousand_resamples_take_about_a_second():
    frame = models(optimizers=["sgd", "adam", "lars", "adafactor"], splits=["50-50", "80-20"])
    start = time.process_time()
    table = comparisons.gaps(frame)
    comparisons.ratio_gap_order(frame)
    assert len(table) == 48
    assert time.process_time() - start < 5
