import numpy as np
import pytest
from made import session

from orla.errors import OrlaError
from orla.sessions.channels import require_enough, same_channels, top_channels


def test_ties_in_variance_go_to_the_earlier_channel():
    counts = np.array([[0, 1, 0, 2], [1, 0, 1, 0]])
    assert top_channels(counts, 3).tolist() == [0, 1, 3]


def test_a_channel_of_many_steady_counts_is_not_preferred():
    assert top_channels(np.array([[9, 0, 1], [9, 2, 1]]), 1).tolist() == [1]


def test_columns_of_the_same_channels_are_found_by_name():
    a, b = session("day a"), session("day b", names=["M1 003", "M1 001", "M1 004", "x"])
    assert same_channels(a, b, ["M1 001", "M1 003"]) == [1, 0]
    with pytest.raises(OrlaError, match=r"day b: chan_names lacks 1 channels.*'M1 002'"):
        same_channels(a, b, ["M1 001", "M1 002"])


def test_fewer_channels_than_inputs_are_refused():
    require_enough(4, 4, "day", "channels")
    with pytest.raises(OrlaError, match=r"day: 3 channels, fewer than the 4.*lower features.count"):
        require_enough(3, 4, "day", "channels")
