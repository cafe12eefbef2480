import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.scaling import Scaling


def test_a_constant_column_is_named():
    rows = np.column_stack([np.arange(50.0), np.full(50, 0.1)])
    with pytest.raises(OrlaError, match=r"session A: y is constant over the pretraining part"):
        Scaling.fit(rows, ["x", "y"], "session A")
    rows[40:, 1] = 3.0
    Scaling.fit(rows, ["x", "y"], "session A")
