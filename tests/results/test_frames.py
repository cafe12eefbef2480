"""Recovery against full RTRL, against a plain loop over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import models

from orla.errors import OrlaError
from orla.results.frames import recovery_vs_rtrl
from orla.study.keys import SETTING

CHOICES = {
    "heldout": ("validation_rolling_error", "selected"),
    "adapt": ("adapt_error", "selected_on_adapt"),
}


def by_hand(frame, row, rtrl="rtrl"):
    """100 (frozen - adapted) / (frozen - rtrl) of one row, its RTRL found by looking at each."""
    same = [
        other
        for _, other in frame.iterrows()
        if other["learner"] == rtrl
        and other["selected"]
        and other["seed"] == row["seed"]
        and all(other[key] == row[key] for key in SETTING)
    ]
    if len(same) != 1:
        return np.nan
    frozen = row["frozen_heldout_error"]
    return 100 * (frozen - row["heldout_error"]) / (frozen - same[0]["heldout_error"])


def test_each_row_is_held_to_rtrl_of_its_own_setting_and_seed():
    frame = models(["rtrl", "immediate"], optimizers=["sgd", "adam"], pairs=["", "b"], seeds=3)
    parts = [frame, models(["rtrl", "immediate"], seeds=2, drawn=12, intervention="rescale")]
    parts += [models(["rtrl", "immediate"], seeds=2, drawn=13, task="sine", start="fresh")]
    frame = pd.concat(parts, ignore_index=True).sample(frac=1, random_state=1)
    frame = frame[~((frame["learner"] == "rtrl") & (frame["seed"] == 1) & (frame["pair"] == "b"))]
    found = recovery_vs_rtrl(frame, ["rtrl"])
    expected = np.array([by_hand(frame, row) for _, row in frame.iterrows()])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert 0 < np.isnan(found).sum() < len(found)
    own = (frame["learner"] == "rtrl") & frame["selected"]
    np.testing.assert_allclose(found[own], 100.0)
    assert len(set(found[~own & np.isfinite(found)])) == (~own & np.isfinite(found)).sum()


def test_rtrl_that_recovers_nothing_gives_nan_and_wrong_tables_are_refused():
    frame = models(["rtrl", "immediate"], seeds=3)
    mine = (frame["learner"] == "rtrl") & frame["selected"]
    lost = frame.copy()  # RTRL diverged, or is no better than the frozen network
    lost.loc[mine & (frame["seed"] == 0), "heldout_error"] = np.nan
    lost.loc[mine & (frame["seed"] == 1), "heldout_error"] = 1.5
    assert (np.isnan(recovery_vs_rtrl(lost, ["rtrl"])) == (frame["seed"] < 2)).all()
    for bad, words in (
        (frame.drop(columns="frozen_heldout_error"), "lacks the column frozen_heldout_error"),
        (frame.assign(selected=True), "selected marks seed 0 of full RTRL twice"),
        (pd.concat([frame, frame[mine][:1]]), "selected marks seed 0 of full RTRL twice"),
    ):
        with pytest.raises(OrlaError, match=words):
            recovery_vs_rtrl(bad, ["rtrl"])


@pytest.mark.parametrize("part", ["heldout", "adapt"])
def test_the_best_rtrl_serves_every_optimizer_and_is_chosen_as_its_rate_is(part):
    frame = models(["rtrl", "immediate"], optimizers=["sgd", "adam"], pairs=["", "b"], seeds=3)
    frame["frozen_adapt_error"] = 3.0
    frame["adapt_error"] = 2.0 + np.random.default_rng(0).uniform(0, 0.5, len(frame))
    validation, mark = CHOICES[part]
    chosen = frame["learner"].eq("rtrl") & frame["optimizer"].eq("adam")
    frame.loc[chosen, validation] = frame.loc[chosen, validation] - 1
    found = recovery_vs_rtrl(frame, ["rtrl"], part, best=True)
    best = frame[chosen & frame[mark]].set_index(["pair", "seed"])[f"{part}_error"]
    full = best.loc[list(zip(frame["pair"], frame["seed"], strict=True))].to_numpy()
    frozen = frame[f"frozen_{part}_error"]
    expected = 100 * (frozen - frame[f"{part}_error"]) / (frozen - full)
    np.testing.assert_allclose(found, expected.where(frozen > full), rtol=1e-12)
    frame.loc[chosen, validation] += 2
    assert not np.allclose(
        recovery_vs_rtrl(frame, ["rtrl"], part, best=True), found, equal_nan=True
    )


@pytest.mark.parametrize("part", ["", "heldout", "adapt"])
def test_another_exact_learner_stands_in_where_the_first_did_not_run(part):
    names = ["rtrl", "diagonal", "immediate"]
    frame = models(names, seeds=2).assign(frozen_adapt_error=3.0)
    frame["adapt_error"] = 2.0 + np.random.default_rng(0).uniform(0, 0.5, len(frame))
    alone = frame[frame["learner"] != "rtrl"].assign(architecture="lru")
    both = pd.concat([frame, alone], ignore_index=True).sample(frac=1, random_state=2)

    def found(table, exact):
        if not part:
            return pd.Series(recovery_vs_rtrl(table, exact), table.index)
        return pd.Series(recovery_vs_rtrl(table, exact, part, best=True), table.index)

    told = found(both, ["rtrl", "diagonal"])
    lru = both["architecture"] == "lru"
    pd.testing.assert_series_equal(told[~lru], found(both, ["rtrl"])[~lru])
    pd.testing.assert_series_equal(told[lru], found(both, ["diagonal"])[lru])
    assert np.isfinite(told[lru & both["selected"]]).all()
    assert not np.allclose(told[~lru], found(both, ["diagonal"])[~lru])
    assert found(both, ["rtrl"])[lru].isna().all()
