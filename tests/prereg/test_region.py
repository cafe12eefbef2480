"""Regions against a brute-force reading of intervals as dense sets of points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orla.prereg.region import parse

MEMBERSHIP = {
    ("at_least", False): lambda x, a, b: x >= a,
    ("at_least", True): lambda x, a, b: x > a,
    ("at_most", False): lambda x, a, b: x <= b,
    ("at_most", True): lambda x, a, b: x < b,
    ("between", False): lambda x, a, b: (x >= a) & (x <= b),
    ("between", True): lambda x, a, b: (x > a) & (x < b),
    ("outside", False): lambda x, a, b: (x <= a) | (x >= b),
    ("outside", True): lambda x, a, b: (x < a) | (x > b),
}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    st.sampled_from(sorted(MEMBERSHIP)),
    st.lists(st.integers(-6, 6), min_size=2, max_size=2, unique=True).map(sorted),
    st.lists(st.integers(-9, 9), min_size=2, max_size=2).map(sorted),
)
def test_contains_and_excludes_are_all_and_none_of_the_points(kind, bounds, interval):
    name, strict = kind
    value = {"at_least": bounds[0], "at_most": bounds[1]}.get(name, bounds)
    region = parse({name: value, "strict": strict}, "test")
    # Bounds and ends are integers, so quarters hold a point of every piece between them.
    points = np.arange(interval[0], interval[1] + 0.125, 0.25)
    members = MEMBERSHIP[kind](points, *bounds)
    assert region.contains(*interval) == members.all()
    assert region.excludes(*interval) == (not members.any())


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"at_least": 10}, "at least 10 pp"),
        ({"at_least": 10, "strict": True}, "above 10 pp"),
        ({"at_most": 0}, "at most 0 pp"),
        ({"at_most": 0, "strict": True}, "below 0 pp"),
        ({"between": [-3, 3]}, "between -3 and 3 pp"),
        ({"between": [-3, 3], "strict": True}, "strictly between -3 and 3 pp"),
        ({"outside": [-1, 1]}, "outside -1 to 1 pp"),
    ],
)
def test_regions_in_words(document, words):
    assert parse(document, "test").describe("pp") == words
