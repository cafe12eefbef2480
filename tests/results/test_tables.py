"""The tables of results against numbers worked out by hand and by plain loops."""

import numpy as np
import pandas as pd
import pytest
from made_up import COMPARISONS, RATES, models, settings
from scipy import stats

from orla import catalogue
from orla.errors import OrlaError
from orla.results import base
from orla.study.keys import KEYS, SETTING

TABLES = {
    "conditions": "learning_rate",
    "gaps": "gap_pp",
    "selection_price": "price_pp",
    "ratio_gap": "gap_pp",
    "ratio_gap_order": "spearman",
    "horizon_gaps": "gap_pp",
    "seed_gaps": "gap_pp",
    "estimates": "gap_pp",
    "over_pairs": "gap_pp",
    "multiverse": "gap",
    "learners": "cosine",
    "measured": "mean",
}
# Rows of what a config names, of precisions and of decoders beside networks: they have own tests.
ELSEWHERE = {"quantities", "quantity_pairs", "baselines", "footprints", "numerics"}
CHOSEN = ("selected", "selected_on_test")


def table(name, frame, given=None):
    """A statistic's table; for a horizon, all models are taken at one."""
    tables = {"models": frame, "horizon": horizon(frame), "alignment": aligned(frame)}
    for needed in base.in_order([name]):
        tables[needed] = base.build(needed, tables, given or settings())
    return tables[name]


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
    rows = [row for _, row in frame.iterrows() if row["learner"] == learner and row[chosen]]
    rows = [row for row in rows if all(row[name] == value for name, value in where.items())]
    rows.sort(key=lambda row: row["seed"])
    assert len({row["seed"] for row in rows}) == len(rows) > 0
    return np.array([row[column] for row in rows], dtype=float)


def put(frame, learner, seed, chosen="selected", **values):
    where = (frame["learner"] == learner) & (frame["seed"] == seed) & frame[chosen]
    assert where.sum() == 1
    for column, value in values.items():
        frame.loc[where, column] = value
    return frame


def diverge(frame, learner, seed, chosen="selected"):
    measures = [c for c in frame if c.startswith(("recovery", "r2", "update", "heldout"))]
    return put(frame, learner, seed, chosen, diverged=True, **dict.fromkeys(measures, np.nan))


def one(found, **where):
    for column, value in where.items():
        found = found[found[column] == value]
    assert len(found) == 1
    return found.iloc[0]


def percentile_interval(values, resamples, seed):
    """The 95 % percentile bootstrap of a mean, as scipy draws it."""
    drawn = stats.bootstrap(
        (np.asarray(values),), np.mean, n_resamples=resamples, method="percentile",
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    return tuple(drawn.confidence_interval)


def test_every_statistic_is_here_and_says_its_columns():
    found = catalogue.parts("statistic")
    assert set(found) == {*TABLES, *ELSEWHERE}
    for statistic in found.values():
        keys = [name for name in statistic.columns if name in KEYS]
        assert keys == [name for name in KEYS if name in keys]
        first = 1 if "quantity" in statistic.columns else 0
        assert list(statistic.columns)[first : len(keys) + first] == keys
        assert all(text.endswith(".") for text in statistic.columns.values())


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("key", [k for k in SETTING if k != "optimizer"])
def test_each_key_keeps_rows_apart(name, key):
    """Two values of a key give the rows of each alone; an empty pair is a value as any other."""
    if key == "pair" and name == "over_pairs":
        return
    given = settings(resamples=20)
    first = models(["immediate", "tbptt-200-200"], optimizers=["sgd", "adam", "lars"], seeds=2)
    second = first.assign(**{key: "other"})
    second["recovery_heldout_percent"] = second["recovery_heldout_percent"].to_numpy()[::-1].copy()
    both = table(name, pd.concat([first, second], ignore_index=True), given)
    alone = [table(name, frame, given) for frame in (first, second)]
    for frame, expected in zip((first, second), alone, strict=True):
        mine = both[both[key] == frame[key].iloc[0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, expected)
    assert len(both) == 2 * len(alone[0]) > 0


@pytest.mark.parametrize(("comparison", "learners"), COMPARISONS.items())
def test_each_gap_is_first_minus_second_paired_by_seed(comparison, learners):
    frame = models(splits=["50-50", "80-20"])
    row = one(table("gaps", frame), comparison=comparison, split="50-50")
    full, immediate = (at(frame, learner, split="50-50") for learner in learners)
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
    for column, measure in {"r2_gap": "r2_mean", "error_gap": "heldout_error"}.items():
        first, second = (at(frame, learner, measure, split="50-50") for learner in learners)
        sign = -1 if column == "error_gap" else 1  # positive where the first is better
        assert row[column] == pytest.approx(sign * (first - second).mean(), abs=1e-12)
    points = table("seed_gaps", frame).query("estimand == 'heldout'")
    points = points[(points["comparison"] == comparison) & (points["split"] == "50-50")]
    assert list(points["seed"]) == [0, 1, 2, 3, 4]
    assert list(points["gap_pp"]) == list(full - immediate)


def test_a_diverged_seed_is_left_out_and_counted():
    frame = diverge(models(), "tbptt-200-200", seed=2)
    gaps = table("gaps", frame)
    row = one(gaps, comparison="paper")
    kept = np.array([0, 1, 3, 4])
    for column, measure in {
        "gap_pp": "recovery_heldout_percent",
        "r2_gap": "r2_mean",
        "error_gap": "heldout_error",
    }.items():
        full, immediate = (at(frame, name, measure)[kept] for name in COMPARISONS["paper"])
        sign = -1 if column == "error_gap" else 1
        assert row[column] == pytest.approx(sign * (full - immediate).mean(), abs=1e-12)
    assert (row["n_seeds"], row["n_diverged"]) == (4, 1)
    assert one(gaps, comparison="per_step")["n_diverged"] == 0
    condition = one(table("conditions", frame), learner="tbptt-200-200")
    assert (condition["n_seeds"], condition["n_diverged"]) == (4, 1)
    assert condition["recovery_percent"] == pytest.approx(np.nanmean(at(frame, "tbptt-200-200")))
    points = table("seed_gaps", frame).query("estimand == 'heldout'").dropna(subset="gap_pp")
    assert sorted(points[points["comparison"] == "paper"]["seed"]) == [0, 1, 3, 4]
    ratio = one(table("ratio_gap", frame))
    assert ratio["n_seeds"] == 4 and ratio["gap_pp"] == row["gap_pp"]
    assert one(table("horizon_gaps", frame))["n_seeds"] == 4
    row = one(table("gaps", diverge(frame, "immediate", seed=4)), comparison="paper")
    assert (row["n_seeds"], row["n_diverged"]) == (3, 2)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(OrlaError, match=r'"statistics.main" is "paper", .*there are "a", "b"'):
        settings({"a": ("rtrl", "immediate"), "b": ("rtrl", "x")})
    with pytest.raises(OrlaError, match="subtracts rtrl from itself"):
        settings({"paper": ("rtrl", "rtrl")})


def test_conditions_hold_means_intervals_and_the_edge():
    frame = put(models(), "rtrl", 0, edge=True)
    frame["recovery_vs_rtrl_percent"] = np.random.default_rng(5).normal(80, 9, len(frame))
    row = one(table("conditions", frame), learner="rtrl")
    assert row["learning_rate"] == RATES[0] and row["edge"]
    measured = {
        "recovery_heldout_percent": ("recovery_percent", "{}_percent"),
        "recovery_adapt_percent": ("adapt_recovery_percent", "adapt_{}_percent"),
        "update_ratio": ("update_ratio", "update_ratio_{}"),
        "recovery_vs_rtrl_percent": ("recovery_vs_rtrl_percent", "recovery_vs_rtrl_{}_percent"),
    }
    for measure, (mean, ends) in measured.items():
        chosen = "selected_on_adapt" if "adapt" in measure else "selected"
        values = at(frame, "rtrl", measure, chosen)
        assert row[mean] == pytest.approx(values.mean())
        found = [row[ends.format(end)] for end in ("low", "high")]
        assert found == pytest.approx(percentile_interval(values, 200, 0))
    error, frozen, reference = (
        at(frame, "rtrl", f"{name}_error") for name in ("heldout", "frozen_heldout", "reference")
    )
    over_best = 100 * (frozen - error) / (frozen - reference)  # the constants are worse
    ends = [row[f"over_best_t95_{end}_percent"] for end in ("low", "high")]
    assert row["over_best_percent"] == pytest.approx(over_best.mean())
    assert ends == pytest.approx(stats.t.interval(0.95, 4, over_best.mean(), stats.sem(over_best)))
    for measure in ("r2_mean", "r2_weighted"):
        assert row[measure] == pytest.approx(at(frame, "rtrl", measure).mean())
    assert not one(table("conditions", frame), learner="immediate")["edge"]
    row = one(table("conditions", frame), learner="last-layer")  # leaves the recurrent weights
    assert row[["update_ratio", "update_ratio_low", "update_ratio_high"]].isna().all()
    assert row["n_diverged"] == 0


def test_selection_price_is_test_selected_minus_validation_selected():
    frame = models(["immediate"])
    row = one(table("selection_price", frame))
    first, second = (at(frame, "immediate", chosen=c) for c in CHOSEN)
    assert row["recovery_validation_selected_percent"] == pytest.approx(first.mean())
    assert row["recovery_test_selected_percent"] == pytest.approx(second.mean())
    assert row["price_pp"] == pytest.approx((second - first).mean())
    assert (row["learning_rate"], row["learning_rate_test"]) == tuple(RATES)
    tail = at(frame, "immediate", chosen="selected_on_tail")
    assert row["recovery_tail_selected_percent"] == pytest.approx(tail.mean())
    assert row["learning_rate_tail"] == RATES[1]
    errors = [at(frame, "immediate", "validation_rolling_error", of) for of in CHOSEN]
    further = errors[1] - errors[0]
    near = further.mean() <= stats.sem(further)
    assert row["learning_rate_runner_up"] == RATES[int(near)]
    drawn = further[np.random.default_rng(0).integers(0, 5, (200, 5))].mean(axis=1)
    assert row["other_rate_share"] == (drawn < 0).mean()
    interval = percentile_interval(second - first, 200, 0)
    assert (row["low_pp"], row["high_pp"]) == pytest.approx(interval) and row["n_seeds"] == 5
    same = one(table("selection_price", frame.assign(selected_on_test=frame["selected"])))
    assert (same["price_pp"], same["low_pp"], same["high_pp"]) == (0, 0, 0)


def test_the_ratio_is_that_of_the_learner_that_is_subtracted_from():
    frame = models(["immediate", "tbptt-200-200"])
    row = one(table("ratio_gap", frame))
    ratio = at(frame, "tbptt-200-200", "update_ratio")
    gap = at(frame, "tbptt-200-200") - at(frame, "immediate")
    assert row["update_ratio"] == pytest.approx(ratio.mean(), abs=1e-12)
    assert row["update_ratio"] != pytest.approx(at(frame, "immediate", "update_ratio").mean())
    interval = percentile_interval(ratio, 200, 0)
    assert (row["update_ratio_low"], row["update_ratio_high"]) == pytest.approx(interval)
    assert row["gap_pp"] == pytest.approx(gap.mean(), abs=1e-12)
    interval = percentile_interval(gap, 200, 0)
    assert (row["low_pp"], row["high_pp"]) == pytest.approx(interval)


def ordered(gap_of):
    """Four optimizers with the paper's ratios and gaps set by `gap_of(optimizer, seed)`.

    Of the learner that is subtracted the ratios are the other way round.
    """
    ratios = {"sgd": 4.30, "adafactor": 4.82, "adam": 6.20, "lars": 10.49}
    frame = models(["immediate", "tbptt-200-200"], optimizers=ratios)
    full = frame["learner"] == "tbptt-200-200"
    ratio = frame["optimizer"].map(ratios)
    frame["update_ratio"] = ratio.where(full, -ratio)
    gap = [gap_of(o, s) for o, s in zip(frame["optimizer"], frame["seed"], strict=True)]
    frame["recovery_heldout_percent"] = 40 + frame["seed"] + np.where(full, gap, 0.0)
    return frame


PAPER_GAPS = {"sgd": -10, "adafactor": -7, "adam": 0, "lars": 20}


def test_the_papers_ordering_is_perfect_and_seeds_that_disagree_widen_it():
    frame = ordered(lambda optimizer, seed: PAPER_GAPS[optimizer] + 0.1 * seed)
    row = one(table("ratio_gap_order", frame))
    assert (row["spearman"], row["low"], row["high"]) == (1, 1, 1)
    assert (row["n_optimizers"], row["n_seeds"]) == (4, 5)
    turned = ordered(lambda optimizer, seed: -PAPER_GAPS[optimizer])
    assert one(table("ratio_gap_order", turned))["spearman"] == -1
    torn = ordered(lambda optimizer, seed: PAPER_GAPS[optimizer] * (-1) ** seed)
    row = one(table("ratio_gap_order", torn))
    assert row["low"] < 0 < row["high"]


def test_horizon_gaps():
    frame = models(["immediate", "tbptt-200-200"])
    late = horizon(frame, 11000)
    late.loc[late["learner"] == "tbptt-200-200", "recovery_heldout_percent"] += 7
    given = {"horizon": pd.concat([late, horizon(frame, 5000)])}
    found = base.build("horizon_gaps", given, settings())
    assert list(found["horizon_steps"]) == [5000, 11000]
    gap = at(frame, "tbptt-200-200") - at(frame, "immediate")
    assert list(found["gap_pp"]) == pytest.approx([gap.mean(), gap.mean() + 7])
    assert (found["n_seeds"] == 5).all()
    both = pd.concat([given["horizon"], given["horizon"].assign(optimizer="sgd")])
    found = base.build("horizon_gaps", {"horizon": both}, settings())
    assert list(found["optimizer"]) == ["adam", "adam", "sgd", "sgd"]
    assert list(found["horizon_steps"]) == [5000, 11000] * 2


def test_bad_tables_are_named():
    with pytest.raises(OrlaError, match="lacks the column edge"):
        table("gaps", models().drop(columns="edge"))
    with pytest.raises(OrlaError, match="lacks the column pair"):
        table("conditions", models().drop(columns="pair"))
    with pytest.raises(OrlaError, match="has a row without intervention"):
        table("gaps", models(intervention=None))
    both = models()
    both["selected"] = True
    with pytest.raises(OrlaError, match=r"recordings/rnn/immediate/adam.* marks 2 learning rates"):
        table("conditions", both)
    twice = models()
    for name in ("gaps", "conditions", "selection_price", "horizon_gaps", "learners"):
        with pytest.raises(OrlaError, match="seed 0 occurs twice"):
            table(name, pd.concat([twice, twice[twice["learner"] == "immediate"].iloc[:1]]))
