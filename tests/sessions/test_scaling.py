import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.scaling import Scaling


def test_the_rows_it_was_fitted_on_have_mean_0_and_sd_1():
    rows = np.random.default_rng(0).gamma(2.0, size=(200, 3)) * [1.0, 50.0, 1e-6]
    scaled = Scaling.fit(rows, "abc", "day")(rows)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(0), 1)
    # The control: other rows are scaled by the same numbers, not by their own.
    np.testing.assert_allclose(Scaling.fit(rows, "abc", "day")(2 * rows).std(0), 2)


@pytest.mark.parametrize("level", [0.0, 7.0, 1e9])
def test_a_constant_column_is_named(level):
    rows = np.random.default_rng(0).standard_normal((50, 2))
    rows[:, 1] = level
    with pytest.raises(OrlaError, match="day: b is constant over the pretraining part"):
        Scaling.fit(rows, "ab", "day")
