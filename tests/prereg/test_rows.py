"""Manipulation checks of an interval: both ends count, in order and finite."""

import numpy as np
import pandas as pd
import pytest

from orla.prereg.region import Region
from orla.prereg.registration import Check
from orla.prereg.rows import failures

AT_LEAST_0, UP_TO_3 = Region(low=0.0), Region(low=0.0, high=3.0)


@pytest.mark.parametrize(
    ("low", "high", "region", "holds"),
    [
        (1.0, 2.0, UP_TO_3, True),
        (1.0, 4.0, UP_TO_3, False),
        (-1.0, 2.0, UP_TO_3, False),
        (2.0, 1.0, UP_TO_3, False),
        (1.0, 40.0, AT_LEAST_0, True),
        (1.0, np.inf, AT_LEAST_0, False),
        (1.0, np.nan, AT_LEAST_0, False),
        (np.nan, 1.0, AT_LEAST_0, False),
    ],
)
def test_an_interval_lies_in_its_region_whole_ordered_and_finite(low, high, region, holds):
    table = pd.DataFrame({"optimizer": ["adam"], "low": [low], "high": [high]})
    where, ends = {"optimizer": ["adam"]}, ("low", "high")
    check = Check("wide enough", "Else it tells nothing.", "ratios", where, ends, region, None)
    assert (failures(check, table) == []) == holds
