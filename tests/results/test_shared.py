"""Tables of two learners, joined by seed."""

import numpy as np
import pandas as pd

from orla.results.shared import joined_by_seed, ratio_and_gap


def by_seed(seeds, values):
    return pd.DataFrame({"error": values}, index=pd.Index(seeds, name="seed"))


def test_only_seeds_of_both_are_kept_and_each_keeps_its_own_values():
    first, second = by_seed([1, 2, 3], [10.0, 20.0, 30.0]), by_seed([0, 3, 1], [0.0, 3.0, 1.0])
    joined = joined_by_seed(first, second, ("_full", "_immediate"))
    assert joined.to_dict("list") == {
        "seed": [1, 3],
        "error_full": [10.0, 30.0],
        "error_immediate": [1.0, 3.0],
    }


def test_a_seed_without_one_of_ratio_and_gap_has_neither():
    ratio, gap = [5.0, 6.0, np.nan], [1.0, np.nan, 3.0]
    joined = pd.DataFrame({"seed": [0, 1, 2], "update_ratio_full": ratio, "gap_pp": gap})
    for found, expected in zip(ratio_and_gap(joined), (5.0, 1.0), strict=True):
        np.testing.assert_array_equal(found, [expected, np.nan, np.nan])
