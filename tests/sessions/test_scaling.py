import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.scaling import scaled


def test_both_sessions_are_scaled_by_the_pretraining_part_of_a():
    rng = np.random.default_rng(0)
    a, b = 7 + 3 * rng.standard_normal((60, 2)), 5 * rng.standard_normal((40, 2))
    of_a, of_b = scaled((a, b), 50, ["x", "y"], "session A")
    mean, sd = a[:50].sum(0) / 50, np.sqrt(((a[:50] - a[:50].sum(0) / 50) ** 2).sum(0) / 50)
    np.testing.assert_allclose(of_a, (a - mean) / sd)
    np.testing.assert_allclose(of_b, (b - mean) / sd)


def test_a_constant_column_is_named():
    rows = np.column_stack([np.arange(50.0), np.full(50, 0.1)])
    with pytest.raises(OrlaError, match=r"session A: y is constant over the pretraining part"):
        scaled((rows, rows), 50, ["x", "y"], "session A")
    rows[40:, 1] = 3.0
    with pytest.raises(OrlaError, match=r"session A: y is constant over the pretraining part"):
        scaled((rows, rows), 40, ["x", "y"], "session A")
    scaled((rows, rows), 41, ["x", "y"], "session A")
