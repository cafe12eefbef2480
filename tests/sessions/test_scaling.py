import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.scaling import Scaling


def test_rows_are_scaled_by_those_that_the_scaling_is_fitted_to():
    rng = np.random.default_rng(0)
    a, b = 7 + 3 * rng.standard_normal((50, 2)), 5 * rng.standard_normal((40, 2))
    mean, sd = a.sum(0) / 50, np.sqrt(((a - a.sum(0) / 50) ** 2).sum(0) / 50)
    np.testing.assert_allclose(Scaling.fit(a, ["x", "y"], "session A")(b), (b - mean) / sd)


def test_a_constant_column_is_named():
    rows = np.column_stack([np.arange(50.0), np.full(50, 0.1)])
    with pytest.raises(OrlaError, match=r"session A: y is constant over the pretraining part"):
        Scaling.fit(rows, ["x", "y"], "session A")
    rows[40:, 1] = 3.0
    Scaling.fit(rows, ["x", "y"], "session A")
