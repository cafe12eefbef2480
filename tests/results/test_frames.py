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


def by_hand(frame, part="heldout", exact=("rtrl",), optimizer=None):
    """100 (frozen - adapted) / (frozen - rtrl) of each row, its RTRL found by looking at each.

    It is the first of these learners in the row's setting, with this optimizer for all or its own.
    """
    rows, found = frame.to_dict("records"), []
    for row in rows:
        same = row | {"optimizer": optimizer or row["optimizer"]}
        here = [o for o in rows if o[CHOICES[part][1]] and all(o[k] == same[k] for k in SETTING)]
        ran = [[o for o in here if o["learner"] == learner] for learner in exact]
        errors = [
            o[f"{part}_error"] for o in next(filter(None, ran), ()) if o["seed"] == row["seed"]
        ]
        full, frozen = errors[0] if errors else np.nan, row[f"frozen_{part}_error"]
        share = 100 * (frozen - row[f"{part}_error"]) / (frozen - full)
        found.append(share if full < frozen else np.nan)
    return np.array(found)


def test_each_row_is_held_to_rtrl_of_its_own_setting_and_seed():
    frame = models(["rtrl", "immediate"], optimizers=["sgd", "adam"], pairs=["", "b"], seeds=3)
    parts = [frame, models(["rtrl", "immediate"], seeds=2, drawn=12, intervention="rescale")]
    parts += [models(["rtrl", "immediate"], seeds=2, drawn=13, task="sine", start="fresh")]
    frame = pd.concat(parts, ignore_index=True).sample(frac=1, random_state=1)
    frame = frame[~((frame["learner"] == "rtrl") & (frame["seed"] == 1) & (frame["pair"] == "b"))]
    found = recovery_vs_rtrl(frame, ["rtrl"])
    np.testing.assert_allclose(found, by_hand(frame), rtol=1e-12)
    assert 0 < np.isnan(found).sum() < len(found)
    own = (frame["learner"] == "rtrl") & frame["selected"]
    np.testing.assert_allclose(found[own], 100.0)


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


@pytest.mark.parametrize("part", CHOICES)
def test_the_best_rtrl_serves_every_optimizer_and_is_chosen_as_its_rate_is(part):
    frame = models(["rtrl", "immediate"], optimizers=["sgd", "adam"], pairs=["", "b"], seeds=3)
    frame = frame.assign(frozen_adapt_error=3.0, adapt_error=frame["adapt_error"] + 1.5)
    validation, adam = CHOICES[part][0], frame["optimizer"] == "adam"
    for optimizer, by in (("adam", -1), ("sgd", 2)):
        frame.loc[adam & (frame["learner"] == "rtrl"), validation] += by
        found = recovery_vs_rtrl(frame, ["rtrl"], part, best_optimizer=True)
        np.testing.assert_allclose(found, by_hand(frame, part, ["rtrl"], optimizer), rtol=1e-12)


@pytest.mark.parametrize(("part", "best"), [("heldout", False), ("heldout", True), ("adapt", True)])
def test_another_exact_learner_stands_in_where_the_first_did_not_run(part, best):
    frame = models(["rtrl", "diagonal", "immediate"], seeds=2).assign(frozen_adapt_error=3.0)
    alone = frame[frame["learner"] != "rtrl"].assign(architecture="lru")
    both = pd.concat([frame, alone], ignore_index=True).sample(frac=1, random_state=2)
    for exact in (["rtrl", "diagonal"], ["rtrl"], ["diagonal"]):
        found, wanted = recovery_vs_rtrl(both, exact, part, best), by_hand(both, part, exact)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert np.isnan(wanted[both["architecture"] == "lru"]).all() == (exact == ["rtrl"])
