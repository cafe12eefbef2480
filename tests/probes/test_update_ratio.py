"""The ratio of two updates' norms, by hand."""

import numpy as np
import pytest
import torch

from orla.probes.base import Update
from orla.probes.update_ratio import UpdateRatio


def ratio(**updates):
    def one(updates):
        update = Update({}, {}, {}, {}, updates, None, {}, None, {})
        return UpdateRatio().measure({}, update)[1]["update_ratio"]

    return torch.func.vmap(one)(updates).tolist()


def test_norms_are_taken_over_all_of_a_parameter():
    hh = torch.tensor([[[3.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 6.0]]])
    out = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]])
    assert ratio(W_hh=hh, W_out=out) == [5.0, 3.0]
    assert ratio(W_hh=hh.transpose(1, 2), W_out=out) == [5.0, 3.0]


def test_units_with_one_recurrent_weight_each_have_a_ratio_too():
    assert ratio(W_hh=torch.tensor([[3.0, 4.0]]), W_out=torch.tensor([[[0.0, 2.0]]])) == [2.5]


def test_what_does_not_move():
    still, moved = torch.zeros(1, 1, 2), torch.ones(1, 1, 2)
    assert ratio(W_hh=moved, W_out=still) == [float("inf")]
    assert ratio(W_hh=still, W_out=moved) == [0.0]
    assert ratio(W_out=moved) == [pytest.approx(float("nan"), nan_ok=True)]


def test_a_sweeps_column_is_the_mean_over_updates():
    series = {"update_ratio": np.array([[1.0, 3.0], [2.0, np.nan]])}
    assert UpdateRatio().summary(series)["update_ratio"].tolist() == [
        2.0,
        pytest.approx(np.nan, nan_ok=True),
    ]
