import numpy as np
import pytest
import torch
from harness import NETWORKS, networks

from orla.study.batches import batch_indices, initial_parameters, models_at, stream_tensors
from orla.tasks.stream import Stream


@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_batches_hold_every_model_once_and_have_one_size(size):
    for models in (1, 2, 5, 6, 7, 12):
        counted = []
        for index, count in batch_indices(models, size):
            assert len(index) == size and (index[count:] == models - 1).all()
            counted += list(index[:count])
        assert counted == list(range(models))


def test_chosen_models_are_copies():
    params = networks(NETWORKS["rnn"][0], models=3)
    some = models_at(params, torch.tensor([2, 0, 0]))
    assert torch.equal(some["W_hh"][0], params["W_hh"][2])
    assert torch.equal(some["W_hh"][1], some["W_hh"][2])
    some["W_hh"].zero_()
    assert params["W_hh"].any()


def test_each_model_has_the_stream_of_its_seed_steps_first_and_values_in_its_precision():
    X, seeds = np.arange(24.0).reshape(3, 4, 2), [2, 0, 2]
    Y, starts = X[..., 0].astype(int), X[..., 0] % 3 == 0
    found = stream_tensors(Stream(X, Y, starts=starts), np.array(seeds), torch.float32)
    kinds = {name: values.dtype for name, values in found.items()}
    assert kinds == {"x": torch.float32, "y": torch.int64, "starts": torch.bool}
    for name, array in (("x", X), ("y", Y), ("starts", starts)):
        assert found[name].transpose(0, 1).tolist() == array[seeds].tolist()


def test_initial_parameters_of_neighbouring_seeds_are_uncorrelated():
    params = initial_parameters(NETWORKS["rnn"][0], range(100), torch.float64)
    flat = torch.cat([p.flatten(1) for p in params.values()], 1).numpy()
    correlations = np.corrcoef(flat)[np.triu_indices(100, 1)]
    # 57 numbers a network: independent ones correlate by 0.13 on average squares.
    assert abs(correlations.mean()) < 0.01
    assert 0.9 < correlations.std() * np.sqrt(flat.shape[1] - 1) < 1.1
