import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.projection import Projection


def test_the_first_component_is_the_direction_in_which_rows_vary_about_their_mean():
    projection = Projection.fit(np.array([[10.0, -2.0], [10.0, 1.0], [10.0, 4.0]]), 1, "x")
    np.testing.assert_allclose(projection.weights, [[0.0], [1.0]], atol=1e-12)
    np.testing.assert_allclose(projection(np.array([[12.0, 5.0]])), [[4.0]])


def test_more_components_than_rows_or_columns_give_are_refused():
    rows = np.random.default_rng(0).standard_normal((5, 6))
    with pytest.raises(OrlaError, match="x: 4 principal components, fewer than the 5 inputs"):
        Projection.fit(rows, 5, "x")
