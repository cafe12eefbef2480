"""Recovery by hand, and denominators that are too small."""

import numpy as np
import pytest

from orla.study.recovery import is_unreliable, recovery_percent


def test_recovery_by_the_papers_own_figures():
    # Its LoRA line is 26 % at frozen 3.94, adapted 3.65, reference 2.83; "2 x worse" is -210 %.
    recovery = recovery_percent(
        np.array([3.94, 1.0, 1.0, 1.0]),
        np.array([3.65, 1.0, 0.5, 2.0]),
        np.array([2.83, 0.5, 0.5, 1 - 1 / 2.1]),
    )
    assert recovery == pytest.approx([26.126126, 0.0, 100.0, -210.0], rel=1e-6)


def test_a_small_denominator_or_none_is_unreliable():
    frozen = np.array([1.0, 1.0, 1.0, np.nan, 1.0])
    reference = np.array([0.9, 0.96, 1.2, 0.1, np.nan])
    assert is_unreliable(frozen, reference).tolist() == [False, True, True, True, True]
    assert np.isnan(recovery_percent(frozen, frozen, reference)[3:]).all()
