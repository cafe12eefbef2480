"""TENT against plain PyTorch; adapters; networks trained, and from a checkpoint."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from made_images import fashion_mnist
from torch import nn

from orla import catalogue
from orla.errors import OrlaError
from orla.vision import images, networks, tent
from orla.vision.corruptions import EXTRA, SCORED

SMALL = {"depth": 10, "widen": 1, "seed": 0}


@pytest.fixture(scope="module")
def network():
    """One whose batch normalization has seen images, so that statistics matter."""
    network = networks.build_network(SMALL).train()
    network(torch.rand(16, 3, 32, 32, generator=torch.Generator().manual_seed(1)))
    return network.double().eval()


@pytest.fixture(scope="module")
def batches():
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(3, 8, 3, 32, 32, generator=generator).double()
    return [(one**2, torch.randint(0, 10, (8,), generator=generator)) for one in x]


def tent_by_torch(network, batches, beta1):
    """TENT as its authors wrote it, with modules changed in place: the error in %, the weights."""
    network = copy.deepcopy(network).train().requires_grad_(False)
    params = {}
    for name, module in network.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            module.requires_grad_(True)
            module.track_running_stats = False
            module.running_mean = None
            module.running_var = None
            params |= {f"{name}.weight": module.weight, f"{name}.bias": module.bias}
    optimizer, wrong = torch.optim.Adam(params.values(), lr=0.03, betas=(beta1, 0.999)), 0
    for x, y in batches:
        outputs = network(x)
        loss = torch.distributions.Categorical(logits=outputs).entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wrong += int((outputs.argmax(1) != y).sum())
    return 100 * wrong / sum(len(y) for _, y in batches), params


@pytest.mark.parametrize("beta1", [0.9, 0.0])
def test_tent_is_that_of_plain_pytorch(network, batches, beta1, monkeypatch):
    error, expected = tent_by_torch(network, batches, beta1)
    last, plain = {}, tent.update_step

    def watched(*given):
        after = plain(*given)
        last.update(after[0])
        return after

    monkeypatch.setattr(tent, "update_step", watched)
    adapting = copy.deepcopy(network).train()
    params = tent.adaptable_parameters(adapting, "bn", 4, 0)
    optimizer = catalogue.make("optimizer", {"kind": "adam", "beta1": beta1})
    assert tent.error_and_gradient_norms(adapting, params, batches, optimizer, 0.03)[0] == error
    assert expected.keys() == last.keys()
    for each, value in expected.items():
        torch.testing.assert_close(last[each], value, rtol=1e-5, atol=1e-7)
    # And something moved.
    assert max(float((last[n] - p).detach().abs().max()) for n, p in params.items()) > 1e-4


def test_lora_adapters_start_at_no_change_and_add_BA_to_each_convolution(network, batches):
    x, _ = batches[0]
    adapters, same, other = (
        tent.adaptable_parameters(network, "lora", 4, seed) for seed in (3, 3, 4)
    )
    convolutions = [n for n, m in network.named_modules() if isinstance(m, nn.Conv2d)]
    assert [*adapters] == [f"{n}.{part}" for n in convolutions for part in "AB"]
    with torch.no_grad():
        assert torch.equal(tent.logits(network, adapters, x), network(x))
        adapters["conv1.B"] += 0.1
        changed = copy.deepcopy(network)
        change = adapters["conv1.B"] @ adapters["conv1.A"]
        changed.conv1.weight += change.reshape(16, 3, 3, 3)
        torch.testing.assert_close(tent.logits(network, adapters, x), changed(x))
    assert torch.equal(same["conv1.A"], adapters["conv1.A"])
    assert not torch.equal(same["conv1.A"], other["conv1.A"])


def test_norms_are_those_of_each_layers_gradient(network, batches):
    adapting = copy.deepcopy(network).train()
    optimizer = catalogue.make("optimizer", "sgd")
    params = tent.adaptable_parameters(adapting, "lora", 4, 0)
    _, norms = tent.error_and_gradient_norms(adapting, params, batches[:1], optimizer, 0.0)
    said = tent.logits(adapting, params, batches[0][0])
    torch.distributions.Categorical(logits=said).entropy().mean().backward()
    # B is zero, so that A has no gradient yet.
    assert float(params["conv1.A"].grad.norm()) == 0
    assert norms["conv1"] == pytest.approx(float(params["conv1.B"].grad.norm()), rel=1e-4)


def test_a_table_has_the_rate_that_is_best_on_other_corruptions(tmp_path, monkeypatch):
    streams = images.corruption_streams(fashion_mnist(tmp_path), 4)
    settings = {"batch": 4, "rank": 2, "seeds": 1, "rates": {"bn": {"adam": [0.001, 0.003]}}}
    table = partial(tent.adaptation_table, networks.build_network(SMALL), streams, settings)
    frozen = table("none", "-", {}, 2)
    assert set(frozen["corruption"]) == {"clean", *SCORED} and frozen["learning_rate"].isna().all()
    adapted = table("bn", "adam", {"kind": "adam"}, 0)
    assert set(adapted["measure"]) == {"error", "gradient_norm"}
    assert set(adapted[~adapted["tuning"]]["corruption"]) == {*SCORED}
    # The best rate of all is 0.01, which the grid reaches where it may grow.
    error = lambda *given: (abs(math.log(given[-1] / 0.01)), {})  # noqa: E731
    monkeypatch.setattr(tent, "error_and_gradient_norms", error)
    for growth, rates in ((0, [0.001, 0.003]), (2, [0.001, 0.003, 0.01, 0.03])):
        found = table("bn", "adam", {"kind": "adam"}, growth)
        tuned = found[found["tuning"]]
        assert sorted(tuned["learning_rate"].unique()) == pytest.approx(rates)
        assert set(tuned["corruption"]) == {*EXTRA} and len(tuned) == 4 * len(rates)
        [rate] = found[~found["tuning"]]["learning_rate"].unique()
        assert rate == pytest.approx([0.003, 0.01][growth > 0])
        assert found["edge"].all() == (growth == 0)


def test_training_learns(tmp_path):
    settings = SMALL | {"epochs": 2, "batch": 10, "learning_rate": 0.01}
    made = fashion_mnist(tmp_path, train=200, packed=False)
    network = networks.build_network(SMALL)
    networks.train(network, settings, *images.fashion_mnist(made, "train")).eval()
    test, labels = images.fashion_mnist(made, "t10k")
    with torch.no_grad():
        right = (network(networks.network_inputs(test)).argmax(1).numpy() == labels).mean()
    assert right > 0.5


def test_a_checkpoint_has_robustbenchs_names(tmp_path):
    with torch.device("meta"):
        wide = networks.WideResNet(28, 10)
    state = wide.state_dict()
    names = {"conv1.weight", "block1.layer.0.bn1.running_mean", "block3.layer.3.conv2.weight"}
    names |= {"block1.layer.0.convShortcut.weight", "bn1.bias", "fc.weight", "fc.bias"}
    assert names <= state.keys() and "block1.layer.1.convShortcut.weight" not in state
    assert state["block3.layer.0.conv1.weight"].shape == (640, 320, 3, 3)
    assert sum(isinstance(m, nn.Conv2d) for m in wide.modules()) == 28
    # The size that Zagoruyko and Komodakis print.
    assert sum(p.numel() for p in wide.parameters()) == pytest.approx(36.5e6, rel=0.01)

    network = networks.build_network(SMALL | {"seed": 5})
    path = tmp_path / "standard.pt"
    held = {f"module.{name}": value for name, value in network.state_dict().items()}
    torch.save({"state_dict": held}, path)
    read = networks.build_network(SMALL | {"checkpoint": str(path)})
    assert all(torch.equal(v, read.state_dict()[n]) for n, v in network.state_dict().items())


def _cut(path):
    torch.save(networks.build_network(SMALL).state_dict(), path)
    path.write_bytes(path.read_bytes()[:1000])


DAMAGES = {
    "missing": lambda path: None,
    "cut": _cut,
    "pickle": lambda path: torch.save({"state_dict": np.random.default_rng(0)}, path),
    "other size": lambda path: torch.save(networks.WideResNet(10, 2).state_dict(), path),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_another_file_is_no_checkpoint(tmp_path, damage):
    DAMAGES[damage](tmp_path / "net.pt")
    with pytest.raises(OrlaError, match=r"net\.pt: ") as error:
        networks.build_network(SMALL | {"checkpoint": str(tmp_path / "net.pt")})
    assert "\n" not in str(error.value)
