"""Each reason not to rely on an estimate, at its bound and just beyond."""

import numpy as np
import pytest

from orla.results import guards

SOUND = {
    "updates": 20,
    "price_pp": 3.0,
    "other_rate_share": 0.5,
    "margin_pp": 3.0,
    "frozen_error": 1.0,
    "constant_error": 1.0,
    "denominator": 0.05,
    "denominator_se": 0.016,
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"updates": 19}, "fewer than 20 updates: adapt"),
        ({"price_pp": 3.1}, "the choice of the rate failed: run"),
        ({"price_pp": -3.1}, "the choice of the rate failed"),
        ({"other_rate_share": 0.51}, "the choice of the rate failed"),
        ({"frozen_error": 1.01}, "worse than predicting the mean: pretrain"),
        ({"denominator": 0.049, "denominator_se": 0.0}, "recovery has no meaning, because"),
        ({"denominator_se": 0.017}, "recovery has no meaning, because"),
        ({"denominator": -1.0}, "recovery has no meaning, because"),
        ({"denominator": np.nan}, "recovery has no meaning without a reference"),
    ],
)
def test_each_guard_has_its_reason_and_what_to_do(change, words):
    assert guards.reasons(**SOUND) == ""
    found = guards.reasons(**SOUND | change)
    assert found.startswith(words) or words in found
    assert ": " in found and "; " not in found
    unknown = {"price_pp": np.nan, "other_rate_share": np.nan, "denominator_se": np.nan}
    assert guards.reasons(**SOUND | unknown) == ""


def test_several_guards_stand_together():
    changed = SOUND | {"updates": 3, "frozen_error": 2.0}
    assert [one.split(":")[0] for one in guards.reasons(**changed).split("; ")] == [
        "fewer than 20 updates",
        "the frozen network is worse than predicting the mean",
    ]
