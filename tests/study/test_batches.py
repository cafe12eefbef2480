import numpy as np
import pytest
import torch
from harness import NETWORKS, networks

from orla.study.batches import batches, chosen, initial_parameters


@pytest.mark.parametrize("models", [1, 2, 5, 6, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_batches_hold_every_model_once_and_have_one_size(models, size):
    counted, sizes = [], set()
    for index, count in batches(models, size):
        sizes.add(len(index))
        counted += list(index[:count])
        assert (index[count:] == models - 1).all()
    assert counted == list(range(models))
    assert sizes == {size}


def test_chosen_models_are_copies():
    params = networks(NETWORKS["rnn"][0], models=3)
    some = chosen(params, torch.tensor([2, 0, 0]))
    assert torch.equal(some["W_hh"][0], params["W_hh"][2])
    assert torch.equal(some["W_hh"][1], some["W_hh"][2])
    some["W_hh"].zero_()
    assert params["W_hh"].any()


def test_neighbouring_seeds_are_unrelated():
    params = initial_parameters(NETWORKS["rnn"][0], range(100), torch.float64)
    flat = torch.cat([p.flatten(1) for p in params.values()], 1).numpy()
    correlations = np.corrcoef(flat)[np.triu_indices(100, 1)]
    # 57 numbers a network: independent ones correlate by 0.13 on average squares.
    assert abs(correlations.mean()) < 0.01
    assert 0.9 < correlations.std() * np.sqrt(flat.shape[1] - 1) < 1.1
