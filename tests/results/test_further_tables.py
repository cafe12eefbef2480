"""Seeds' gaps, the choice of the rate, conditions over pairs, the multiverse, and added columns."""

import numpy as np
import pandas as pd
import pytest
from made_up import models, varied
from results_by_hand import COLUMNS, FROZEN, RECOVERY, at, given, t_ends, table

from orla.results import base
from orla.study.keys import SETTING

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
        "error_gap": -np.subtract(*(at(frame, one, error, estimand) for one in both)),
        "r2_gap": np.subtract(*(at(frame, one, r2, estimand) for one in both)) if r2 else nothing,
        "denominator": at(frame, "rtrl", FROZEN[estimand], estimand)
        - at(frame, "rtrl", "reference_error", estimand),
        "diverged": lost[0] | lost[1],
    }
    zero = at(frame, "rtrl", FROZEN[estimand], estimand)  # better than the constant
    for side, learner in zip(("full", "immediate"), both, strict=True):
        best = 100 * (zero - at(frame, learner, error, estimand)) / expected["denominator"]
        assert found[f"over_best_{side}_percent"].tolist() == pytest.approx(best, nan_ok=True)
    for column, values in expected.items():
        np.testing.assert_array_equal(found[column].to_numpy(), values, err_msg=column)
    # A rate at which a model diverged is not chosen by the errors of that part.
    assert found["diverged"].any() == (estimand != "adapt") and found["diverged"].dtype == bool


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


def test_the_gap_while_adapting_is_at_the_rates_chosen_on_the_adapt_part():
    frame = models(["rtrl", "immediate"], seeds=5)
    sides = (
        frame[frame["selected_on_adapt"] & (frame["learner"] == one)].set_index("seed")
        for one in ("rtrl", "immediate")
    )
    gap = np.subtract(*(side["recovery_adapt_percent"] for side in sides)).to_numpy()
    names = ["adapt_gap_pp", "adapt_t95_low_pp", "adapt_t95_high_pp"]
    found = table("gaps", frame).iloc[0][names].tolist()
    assert found == pytest.approx([gap.mean(), *t_ends(gap)])


def test_statistics_have_the_columns_that_registrations_read():
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
        assert set(columns.split()) <= set(base.columns()[name])


def test_a_horizon_of_a_pair_whose_recovery_means_nothing_has_no_gap():
    frame = varied([("a", 4), ("b", 3)], drawn=2)
    tables = {"models": frame, "horizon": frame[frame["selected"]].assign(horizon_steps=9000)}
    for name in base.in_order(["estimates", "horizon_gaps"]):
        tables[name] = base.build(name, tables, given())
    tables["estimates"].loc[tables["estimates"]["pair"] == "a", "has_meaning"] = False
    table = base.build("multiverse", tables, given())
    known = table[table["freezing_step"].notna()].set_index("pair")[["gap", "low", "high"]].notna()
    assert not known.loc["a"].any(axis=None) and known.loc["b"].all(axis=None)
