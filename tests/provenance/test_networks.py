import pytest
import torch

from orla.errors import OrlaError
from orla.provenance import networks

NETWORKS = {"W_hh": torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2), "b_h": torch.ones(3)}


def test_networks_come_back_in_their_precision(tmp_path):
    path = tmp_path / "rnn" / "float64.safetensors"
    networks.save(NETWORKS, path, {"seeds": [0, 1, 2]})
    back = networks.load(path)
    assert list(back) == sorted(NETWORKS)
    for name, tensor in NETWORKS.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor)


def test_a_transposed_view_comes_back_as_it_was(tmp_path):
    view = NETWORKS["W_hh"].transpose(1, 2)
    networks.save({"W_hh": view}, tmp_path / "n.safetensors", {})
    assert torch.equal(networks.load(tmp_path / "n.safetensors")["W_hh"], view)


def test_the_first_seeds_can_be_asked_for_but_not_more_than_there_are(tmp_path):
    networks.save(NETWORKS, tmp_path / "n.safetensors", {})
    assert torch.equal(networks.load(tmp_path / "n.safetensors", 2)["W_hh"], NETWORKS["W_hh"][:2])
    with pytest.raises(OrlaError, match="holds 3 networks, not 4"):
        networks.load(tmp_path / "n.safetensors", 4)


def test_provenance_is_read_from_the_file(tmp_path):
    networks.save(NETWORKS, tmp_path / "n.safetensors", {"seeds": [0, 1, 2]})
    assert networks.provenance(tmp_path / "n.safetensors") == {"seeds": [0, 1, 2], "inputs": {}}
