"""The tables of results against numbers worked out by hand and by plain loops."""

import numpy as np
import pandas as pd
import pytest
from made_up import COMPARISONS, RATES, models, settings, varied
from results_by_hand import COLUMNS, FROZEN, RECOVERY, given, hold_test, t_ends
from results_by_hand import at as of_pair
from results_by_hand import table as per_step
from scipy import stats

from orla import catalogue
from orla.errors import OrlaError
from orla.results import base
from orla.study.keys import KEYS, SETTING

# Rows of what a config names, of precisions and of decoders beside networks: they have own tests.
ELSEWHERE = {"quantities", "quantity_pairs", "baselines", "footprints", "numerics"}
TABLES = {*catalogue.parts("statistic")} - ELSEWHERE


def tables(frame, names=TABLES, **changes):
    """These statistics' tables; for a horizon, all models are taken at one."""
    found = {"models": frame, "horizon": horizon(frame), "alignment": aligned(frame)}
    for name in base.dependency_order(names):
        found[name] = base.build(name, found, settings(**changes))
    return found


def table(name, frame):
    return tables(frame, [name])[name]


def horizon(frame, steps=5000):
    kept = frame[frame["selected"].astype(bool)]
    wanted = {*KEYS, "seed", "learning_rate", "recovery_heldout_percent"}
    return kept[[column for column in kept if column in wanted]].assign(horizon_steps=steps)


def aligned(frame):
    """Gradients along these models, one observer each, that agree as far as the model recovers."""
    wanted = {*KEYS, "seed", "learning_rate", "diverged", "selected"}
    kept = frame[[column for column in frame if column in wanted]]
    cosine = frame["recovery_heldout_percent"] / 100
    named = {"observer": "exact", "against": "exact", "carried_bytes": 8}
    return kept.assign(cosine=cosine, positive_share=cosine, norm_ratio=cosine, **named)


def at(frame, learner, column="recovery_heldout_percent", chosen="selected", **where):
    """A column of one learner's chosen models in the order of seeds, by a plain loop."""
    where |= {"learner": learner, chosen: True}
    rows = [r for r in frame.to_dict("records") if all(r[n] == v for n, v in where.items())]
    values = {row["seed"]: row[column] for row in rows}
    assert len(values) == len(rows) > 0
    return np.array([values[seed] for seed in sorted(values)], dtype=float)


def diverge(frame, learner, seed):
    where = (frame["learner"] == learner) & (frame["seed"] == seed) & frame["selected"]
    lost = frame.assign(diverged=frame["diverged"] | where)
    measures = [c for c in frame if c.startswith(("recovery", "r2", "update", "heldout"))]
    lost.loc[where, measures] = np.nan
    return lost


def one(found, **where):
    for column, value in where.items():
        found = found[found[column] == value]
    [row] = found.iloc
    return row


def hold_mean(row, mean, ends, values):
    """A mean and the ends of its interval, whose columns have this pattern, are these."""
    names = [mean, *(ends.format(end) for end in ("low", "high"))]
    assert row[names].tolist() == pytest.approx([values.mean(), *t_ends(values)]), mean


def test_declared_columns_begin_with_the_keys_and_are_described_in_sentences():
    for statistic in catalogue.parts("statistic").values():
        keys = [name for name in statistic.columns if name in KEYS]
        assert keys == [name for name in KEYS if name in keys]
        first = 1 if "quantity" in statistic.columns else 0
        assert list(statistic.columns)[first : len(keys) + first] == keys
        assert all(text.endswith(".") for text in statistic.columns.values())


def test_each_value_of_a_key_has_rows_of_its_own():
    """They are those of its models alone; an empty pair is a value as any other."""
    first = models(["immediate", "tbptt-200-200"], optimizers=["sgd", "adam", "lars"], seeds=2)
    turned = first["recovery_heldout_percent"].to_numpy()[::-1]
    second, keys = first.assign(recovery_heldout_percent=turned), {*SETTING} - {"optimizer"}
    others = [second.assign(**{key: "other"}) for key in keys]
    every, one, two = (
        tables(frame, resamples=20) for frame in (pd.concat([first, *others]), first, second)
    )
    for name in TABLES:
        found, usual = every[name], True
        for key in keys & {*found}:
            rows = found[found[key] == "other"].reset_index(drop=True)
            pd.testing.assert_frame_equal(rows, two[name].assign(**{key: "other"}))
            usual &= found[key] != "other"
        if name != "over_pairs":  # which takes an empty pair and another one as two
            pd.testing.assert_frame_equal(found[usual].reset_index(drop=True), one[name])
        assert len(found) > len(one[name]) > 0


def test_each_gap_is_first_minus_second_paired_by_seed():
    frame, learners = models(splits=["50-50", "80-20"]), COMPARISONS["cadence_full"]
    row = one(table("gaps", frame), comparison="cadence_full", split="50-50")

    def gap(*column):
        return np.subtract(*(at(frame, learner, *column, split="50-50") for learner in learners))

    assert (row["learner_full"], row["learner_immediate"]) == learners
    assert (row["n_seeds"], row["n_diverged"]) == (5, 0)
    hold_test(row, "pp", gap(), 3, alpha=0.05)
    # Positive where the first is better.
    assert row["error_gap"] == pytest.approx(-gap("heldout_error").mean(), abs=1e-12)
    assert row["r2_gap"] == pytest.approx(gap("r2_mean").mean(), abs=1e-12)
    adapting = gap("recovery_adapt_percent", "selected_on_adapt")
    hold_mean(row, "adapt_gap_pp", "adapt_t95_{}_pp", adapting)


def test_a_diverged_seed_is_left_out_and_counted():
    frame = diverge(models(), "tbptt-200-200", seed=2)
    names = ["gaps", "conditions", "seed_gaps", "ratio_gap", "horizon_gaps"]
    found = tables(frame, names)
    row = one(found["gaps"], comparison="paper")
    full, immediate = (at(frame, name)[[0, 1, 3, 4]] for name in COMPARISONS["paper"])
    assert row["gap_pp"] == pytest.approx((full - immediate).mean(), abs=1e-12)
    condition = one(found["conditions"], learner="tbptt-200-200")
    assert condition["recovery_percent"] == pytest.approx(full.mean())
    for lacking in (row, condition):
        assert (lacking["n_seeds"], lacking["n_diverged"]) == (4, 1)
    assert one(found["gaps"], comparison="per_step")["n_diverged"] == 0
    points = found["seed_gaps"].query("estimand == 'heldout' and comparison == 'paper'")
    assert points.dropna(subset="gap_pp")["seed"].tolist() == [0, 1, 3, 4]
    ratio = one(found["ratio_gap"])
    assert ratio["n_seeds"] == 4 and ratio["gap_pp"] == row["gap_pp"]
    assert one(found["horizon_gaps"])["n_seeds"] == 4
    row = one(table("gaps", diverge(frame, "immediate", seed=4)), comparison="paper")
    assert (row["n_seeds"], row["n_diverged"]) == (3, 2)


def test_a_comparison_of_a_learner_with_itself_is_refused():
    with pytest.raises(OrlaError, match="subtracts rtrl from itself"):
        settings({"paper": ("rtrl", "rtrl")})


def test_conditions_hold_means_intervals_and_the_edge():
    frame = models().assign(edge=lambda frame: frame["learner"] == "rtrl")
    frame["recovery_vs_rtrl_percent"] = np.random.default_rng(5).normal(80, 9, len(frame))
    found = table("conditions", frame)
    row = one(found, learner="rtrl")
    assert row["learning_rate"] == RATES[0] and row["edge"] and row["n_diverged"] == 0
    hold_mean(row, "recovery_percent", "t95_{}_percent", at(frame, "rtrl"))
    adapting = at(frame, "rtrl", "recovery_adapt_percent", "selected_on_adapt")
    hold_mean(row, "adapt_recovery_percent", "adapt_t95_{}_percent", adapting)
    for name in ("update_ratio{}", "recovery_vs_rtrl{}_percent"):
        column = name.format("")
        hold_mean(row, column, name.format("_t95_{}"), at(frame, "rtrl", column))
    errors = ("heldout_error", "frozen_heldout_error", "reference_error")
    error, frozen, reference = (at(frame, "rtrl", name) for name in errors)
    over_best = 100 * (frozen - error) / (frozen - reference)  # the constants are worse
    hold_mean(row, "over_best_percent", "over_best_t95_{}_percent", over_best)
    for measure in ("r2_mean", "r2_weighted"):
        assert row[measure] == pytest.approx(at(frame, "rtrl", measure).mean())
    assert not one(found, learner="immediate")["edge"]
    row = one(found, learner="last-layer")  # leaves the recurrent weights
    assert row[["update_ratio", "update_ratio_t95_low", "update_ratio_t95_high"]].isna().all()


def test_selection_price_is_test_selected_minus_validation_selected():
    frame = models(["immediate"])
    row = one(table("selection_price", frame))
    choices = ("selected", "selected_on_test", "selected_on_tail")
    recoveries = np.array([at(frame, "immediate", chosen=chosen) for chosen in choices])
    means = [f"recovery_{name}_selected_percent" for name in ("validation", "test", "tail")]
    assert row[means].tolist() == pytest.approx(recoveries.mean(axis=1))
    hold_mean(row, "price_pp", "t95_{}_pp", recoveries[1] - recoveries[0])
    rates = row[["learning_rate", "learning_rate_test", "learning_rate_tail"]].tolist()
    assert rates == [*RATES, RATES[1]] and row["n_seeds"] == 5
    further = np.subtract(
        *(at(frame, "immediate", "validation_rolling_error", of) for of in choices[1::-1])
    )
    near = further.mean() <= stats.sem(further)
    assert row["learning_rate_runner_up"] == RATES[int(near)]
    drawn = further[np.random.default_rng(0).integers(0, 5, (200, 5))].mean(axis=1)
    assert row["other_rate_share"] == (drawn < 0).mean()
    lost = frame.copy()  # a seed without a value at one of the rates counts at none
    lost.loc[lost["selected_on_test"] & (lost["seed"] == 0), "recovery_heldout_percent"] = np.nan
    row = one(table("selection_price", lost))
    assert row[means].tolist() == pytest.approx(recoveries[:, 1:].mean(axis=1))
    same = one(table("selection_price", frame.assign(selected_on_test=frame["selected"])))
    assert (same["price_pp"], same["t95_low_pp"], same["t95_high_pp"]) == (0, 0, 0)


def test_ratio_gap_has_the_update_ratio_of_the_comparisons_first_learner():
    frame = models(["immediate", "tbptt-200-200"])
    row = one(table("ratio_gap", frame))
    ratio = at(frame, "tbptt-200-200", "update_ratio")
    hold_mean(row, "update_ratio", "update_ratio_t95_{}", ratio)
    hold_mean(row, "gap_pp", "t95_{}_pp", at(frame, "tbptt-200-200") - at(frame, "immediate"))


PAPER = {"sgd": (4.30, -10), "adafactor": (4.82, -7), "adam": (6.20, 0), "lars": (10.49, 20)}


def order_of(sign):
    """The order of four optimizers with the paper's ratios and its gaps times a sign of the seed.

    Of the learner that is subtracted the ratios are the other way round.
    """
    frame = models(["immediate", "tbptt-200-200"], optimizers=PAPER)
    full, seed = frame["learner"] == "tbptt-200-200", frame["seed"]
    ratio, gap = np.array(frame["optimizer"].map(PAPER).tolist()).T
    gap = gap * seed.map(sign) + 0.1 * seed
    frame = frame.assign(update_ratio=np.where(full, ratio, -ratio))
    return one(table("ratio_gap_order", frame.assign(recovery_heldout_percent=40 + gap * full)))


def test_the_papers_ordering_is_perfect_and_seeds_that_disagree_widen_it():
    row = order_of(lambda seed: 1)
    assert row[["spearman", "low", "high", "n_optimizers", "n_seeds"]].tolist() == [1, 1, 1, 4, 5]
    assert order_of(lambda seed: -1)["spearman"] == -1
    row = order_of(lambda seed: (-1) ** seed)
    assert row["low"] < 0 < row["high"]


def test_horizon_gaps_are_means_over_seeds_and_absent_where_recovery_is_unsound():
    frame = models(["immediate", "tbptt-200-200"])
    late = horizon(frame, 11000)
    late.loc[late["learner"] == "tbptt-200-200", "recovery_heldout_percent"] += 7
    both = {"horizon": pd.concat([late, horizon(frame, 5000)]), "models": frame}
    found = base.build("horizon_gaps", both, settings())
    assert list(found["horizon_steps"]) == [5000, 11000]
    gap = at(frame, "tbptt-200-200") - at(frame, "immediate")
    assert list(found["gap_pp"]) == pytest.approx([gap.mean(), gap.mean() + 7])
    assert (found["n_seeds"] == 5).all()
    # Where the frozen network is as good as the reference, recovery says nothing.
    vague = frame.assign(reference_error=frame["frozen_heldout_error"] - 0.01)
    found = base.build("horizon_gaps", both | {"models": vague}, settings())
    assert found[["gap_pp", "t95_low_pp"]].isna().all(axis=None) and (found["n_seeds"] == 0).all()
    row = one(table("ratio_gap", vague))
    assert np.isnan(row["gap_pp"]) and row["n_seeds"] == 0 and np.isfinite(row["update_ratio"])


@pytest.mark.parametrize("estimand", COLUMNS)
def test_seed_gaps_hold_every_seed(estimand):
    frame = varied(drawn=4, lost=0.3)
    found = per_step("seed_gaps", frame.sample(frac=1, random_state=1))
    found = found[(found["estimand"] == estimand) & (found["pair"] == "a")]
    assert list(found["seed"]) == [0, 1, 2, 3]
    _, _, error, r2 = COLUMNS[estimand]

    def both(column):
        return (of_pair(frame, one, column, estimand) for one in ("rtrl", "immediate"))

    full, immediate = both(RECOVERY[estimand])
    zero, reference = (next(both(name)) for name in (FROZEN[estimand], "reference_error"))
    # The frozen networks are better than the constant.
    best = [100 * (zero - values) / (zero - reference) for values in both(error)]
    expected = {
        "gap_pp": full - immediate,
        "recovery_full_percent": full,
        "recovery_immediate_percent": immediate,
        "error_gap": -np.subtract(*both(error)),
        "r2_gap": np.subtract(*both(r2)) if r2 else np.full(4, np.nan),
        "denominator": zero - reference,
        "over_best_full_percent": best[0],
        "over_best_immediate_percent": best[1],
        "diverged": np.logical_or(*both("diverged")),
    }
    for column, values in expected.items():
        assert found[column].tolist() == pytest.approx(values, nan_ok=True), column
    # A rate at which a model diverged is not chosen by the errors of that part.
    assert found["diverged"].any() == (estimand != "adapt") and found["diverged"].dtype == bool


def test_the_multiverse_holds_every_metric_and_step():
    frame = varied([("a", 4), ("b", 3)], drawn=2)
    late = frame[frame["selected"]].assign(horizon_steps=9000)
    early = late.assign(horizon_steps=5000)
    late["recovery_heldout_percent"] += 3.0 * (late["learner"] == "rtrl")

    def built(models):
        tables = {"models": models, "horizon": pd.concat([late, early])}
        for name in base.dependency_order(["multiverse"]):
            tables[name] = base.build(name, tables, given())
        return tables["multiverse"], tables["estimates"]

    found, estimates = built(frame)
    assert len(found) == 2 * (3 + 2 + 2) and (found["comparison"] == "per_step").all()
    mine = found[found["pair"] == "a"].fillna({"freezing_step": 0})
    mine = mine.set_index(["metric", "freezing_step"])[["gap", "low", "high", "unit"]]
    of = estimates[estimates["pair"] == "a"].set_index("estimand")
    expected = {
        (name, 0): [*of.loc[name, ["gap_pp", "t95_low_pp", "t95_high_pp"]], "pp"]
        for name in COLUMNS
    }
    for name, unit in (("r2", "R2"), ("error", "error")):
        columns = [f"{name}_gap", f"{name}_t95_low", f"{name}_t95_high"]
        expected[name, 0] = [*of.loc["heldout", columns], unit]
    usual = expected["heldout", 0]
    expected["heldout", 5000] = usual
    expected["heldout", 9000] = [*(number + 3 for number in usual[:3]), "pp"]
    assert {*mine.index} == {*expected}
    for at, row in expected.items():
        assert mine.loc[at].tolist() == pytest.approx(row), at
    # A horizon of a pair whose recovery means nothing has no gap.
    frame.loc[frame["pair"] == "a", "reference_error"] = frame["frozen_heldout_error"] - 0.01
    found = built(frame)[0].dropna(subset="freezing_step")
    known = found.set_index("pair")[["gap", "low", "high"]].notna()
    assert not known.loc["a"].any(axis=None) and known.loc["b"].all(axis=None)


NEEDED = ["edge", "selected_on_adapt", "validation_rolling_error", "heldout_stable_error"]
NEEDED += ["edge_on_adapt", "constant_error", "updates", "pair"]


@pytest.mark.parametrize("name", ["conditions", "gaps", "estimates", "seed_gaps"])
def test_what_is_wrong_with_the_table_of_models_is_named(name):
    good = models(["immediate", "tbptt-200-200"], seeds=2)
    twice = pd.concat([good, good[good["learner"] == "immediate"].iloc[:1]])
    refused = {f"lacks the column {c}; delete it": good.drop(columns=c) for c in NEEDED} | {
        "has a row without intervention": good.assign(intervention=None),
        r"recordings/rnn/.*/adam.* selected marks 2 learning rates": good.assign(selected=True),
        "seed 0 occurs twice at the rate 0.001": twice,
    }
    for words, frame in refused.items():
        with pytest.raises(OrlaError, match=words):
            table(name, frame)
    for other in ("selection_price", "horizon_gaps", "learners") if name == "gaps" else ():
        with pytest.raises(OrlaError, match="seed 0 occurs twice"):
            table(other, twice)
