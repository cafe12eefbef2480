import numpy as np
import pytest
from made import session

from orla.errors import OrlaError
from orla.sessions.channels import correspondence, require_enough, same_channels, top_channels


def test_ties_in_variance_go_to_the_earlier_channel():
    counts = np.array([[0, 1, 0, 2], [1, 0, 1, 0]])
    assert top_channels(counts, 3).tolist() == [0, 1, 3]


def test_a_channel_of_many_steady_counts_is_not_preferred():
    assert top_channels(np.array([[9, 0, 1], [9, 2, 1]]), 1).tolist() == [1]


def test_columns_of_the_same_channels_are_found_by_array_and_name():
    on_b = [("M1", "3"), ("PMd", "1"), ("M1", "1")]
    assert same_channels([("M1", "1"), ("M1", "3")], on_b, "day a", "day b") == [2, 0]
    with pytest.raises(OrlaError, match=r"day b: lacks 1 of the 2 channels of day a .*'PMd 3'"):
        same_channels([("M1", "1"), ("PMd", "3")], on_b, "day a", "day b")


def test_channels_of_two_subjects_are_different_unless_declared():
    a, b = session("indy_1"), session("loco_1")
    assert correspondence(a, b).columns == "same"
    a.subject, b.subject = "indy", ""
    assert "no other subject is named" in correspondence(a, b).because
    b.subject = "loco"
    found = correspondence(a, b)
    assert found.columns == "different" and "indy_1 is of subject indy" in found.because
    assert not found.names_last and correspondence(a, b, "different").names_last
    assert correspondence(a, b, "same").columns == "same"


def test_fewer_channels_than_inputs_are_refused():
    require_enough(4, 4, "day", "channels")
    with pytest.raises(OrlaError, match=r"day: 3 channels, fewer than the 4.*lower features.count"):
        require_enough(3, 4, "day", "channels")
