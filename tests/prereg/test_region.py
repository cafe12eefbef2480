"""Regions against a brute-force reading of intervals as dense sets of points."""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from orla.prereg.region import parse_region

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


@pytest.mark.parametrize("kind", MEMBERSHIP)
def test_contains_is_of_all_points(kind):
    name, strict = kind
    for bounds in combinations(range(-2, 3), 2):
        value = {"at_least": bounds[0], "at_most": bounds[1]}.get(name, bounds)
        region = parse_region({name: value, "strict": strict}, "test")
        for low, high in combinations_with_replacement(range(-4, 5), 2):
            # Bounds and ends are integers, so quarters hold a point of every piece between them.
            members = MEMBERSHIP[kind](np.arange(low, high + 0.125, 0.25), *bounds)
            assert region.contains(low, high) == members.all()


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
    assert parse_region(document, "test").describe("pp") == words
