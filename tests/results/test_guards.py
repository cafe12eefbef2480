"""Each reason not to rely on an estimate, at its bound and just beyond."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import table

from orla.results import guards

SOUND = {"updates": 20, "rates": 3, "rate": 0.01, "edge": False}


def reasons(reference=0.99, constant=1.0, **change):
    other = guards.RateSearch("rtrl with sgd", 20, 3, 0.3, False)
    tried = guards.RateSearch("immediate with adam", **SOUND | change)
    return guards.reasons([other, tried], reference, constant)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"updates": 19}, "immediate with adam makes 19 updates, fewer than 20: adapt for longer"),
        ({"rates": 2}, "immediate with adam is tried at 2 rates, fewer than 3: give a longer grid"),
        ({"edge": True}, "immediate with adam has its rate, 0.01, on the edge of its grid: raise"),
        ({"reference": 1.0}, "the reference error, 1, is no lower than that of the best constant"),
        ({"reference": 1.2}, "constant, 1: pretrain for longer"),
    ],
)
def test_each_guard_names_learner_number_bound_and_mend(change, words):
    assert reasons() == ""
    found = reasons(**change)
    assert words in found and "; " not in found and "rtrl" not in found
    assert reasons(reference=np.nan) == reasons(constant=np.nan) == ""


@pytest.mark.parametrize(
    ("mean", "error", "fails"),
    [
        (0.05, 0.05 / 3, False),
        (0.05, 0.017, True),
        (0.0499, 0.0, True),
        (0.6, 0.201, True),
        (0.6, np.nan, False),
        (-1.0, 0.0, True),
        (np.nan, 0.1, True),
    ],
)
def test_a_denominator_is_large_and_clear_or_fails(mean, error, fails):
    assert guards.denominator_fails(mean, error) == fails


def test_guards_read_no_heldout_error_of_a_learner():
    """The control: an error of the choice, and of the reference, does change them."""
    frame = varied(seeds=[("a", 5), ("b", 4)], drawn=2)

    def told(frame):
        return table("estimates", frame)[["guards", "has_meaning", "denominator"]]

    held = [c for c in frame if c.startswith(("heldout", "recovery", "r2", "stable"))]
    noise = np.random.default_rng(0).normal(0, 50, (len(frame), len(held)))
    moved = frame.assign(**dict(zip(held, noise.T, strict=True)))
    pd.testing.assert_frame_equal(told(moved), told(frame))
    assert not told(frame.assign(edge=~frame["edge"])).equals(told(frame))
    assert not told(frame.assign(reference_error=1.7)).equals(told(frame))
