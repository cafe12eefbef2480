"""Cosine and ratio of past and immediate gradient, by hand."""

import numpy as np
import pytest
import torch

from orla.probes.base import Update
from orla.probes.past_gradient import PastGradient


def measured(imm, full, probe=None):
    imm, full = ({"W": torch.tensor(g), "b": torch.tensor([0.0])} for g in (imm, full))
    update = Update(imm, {}, {"rtrl": full}, imm, {}, torch.zeros(1), {}, torch.zeros(()), imm)
    _, found = (probe or PastGradient(full="rtrl")).measure({}, update)
    return {name: float(value) for name, value in found.items()}


def test_past_is_the_full_gradient_less_the_immediate_one():
    found = measured([3.0, 4.0], [3.0 + 8.0, 4.0 - 6.0])
    assert found == {"past_cosine": 0.0, "past_ratio": 2.0}
    assert measured([3.0, 4.0], [1.5, 2.0]) == pytest.approx(
        {"past_cosine": -1.0, "past_ratio": 0.5}
    )
    swapped = PastGradient(full="own", immediate="rtrl")
    assert measured([9.0, 0.0], [3.0, 0.0], swapped)["past_ratio"] == 2.0


def test_an_update_without_a_past_leaves_the_mean_to_the_others():
    first = measured([3.0, 4.0], [3.0, 4.0])
    assert np.isnan(first["past_cosine"]) and first["past_ratio"] == 0.0
    series = {
        "past_cosine": np.array([[np.nan, 0.5, -0.1], [np.nan, np.nan, np.nan]]),
        "past_ratio": np.array([[0.0, 1.0, np.inf], [np.nan, 1.0, 3.0]]),
    }
    summary = PastGradient(full="rtrl").summary(series)
    np.testing.assert_allclose(summary["past_cosine"], [0.2, np.nan])
    np.testing.assert_allclose(summary["past_ratio"], [0.5, 2.0])
