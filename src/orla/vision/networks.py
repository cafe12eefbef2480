"""Wide residual networks (Zagoruyko and Komodakis 2016), trained here or from a checkpoint."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from orla import catalogue, progress
from orla.architectures.base import Parameters
from orla.files import require_file, reraise_in_one_line
from orla.optimizers.base import Optimizer, State


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), _conv(inputs, outputs, 3, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), _conv(outputs, outputs, 3)
        self.convShortcut = _conv(inputs, outputs, 1, stride) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(x).relu()
        z = self.conv2(self.bn2(self.conv1(y)).relu())
        return z + (x if self.convShortcut is None else self.convShortcut(y))


class WideResNet(nn.Sequential):
    """Of images (n, 3, 32, 32) in [0, 1], 10 classes; parameters have RobustBench's names.

    depth: layers, 4 more than a multiple of 6; widen: times 16, 32 and 64 channels.
    """

    def __init__(self, depth: int, widen: int) -> None:
        wide, parts = [16, 16 * widen, 32 * widen, 64 * widen], OrderedDict(conv1=_conv(3, 16, 3))
        for i, stride in ((1, 1), (2, 2), (3, 2)):
            more = [_Block(wide[i], wide[i], 1) for _ in range(1, (depth - 4) // 6)]
            layer = nn.Sequential(_Block(wide[i - 1], wide[i], stride), *more)
            parts[f"block{i}"] = nn.Sequential(OrderedDict(layer=layer))
        parts |= {"bn1": nn.BatchNorm2d(wide[3]), "relu": nn.ReLU()}
        parts |= {"mean": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()}
        super().__init__(parts | {"fc": nn.Linear(wide[3], 10)})
        self.to(memory_format=torch.channels_last)


def build_network(settings: Mapping[str, Any]) -> WideResNet:
    """A network of the config's `vision.network`, of its checkpoint's weights or new ones.

    OrlaError: there is no such checkpoint, or it holds no state of a network of this size.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings["seed"])
        network = WideResNet(settings["depth"], settings["widen"])
    if path := settings.get("checkpoint"):
        with reraise_in_one_line(path, "no state dict of this network", "mend vision.network"):
            state = torch.load(require_file(path), map_location="cpu", weights_only=True)
            state = state.get("state_dict", state)
            names = (name.removeprefix("module.").removeprefix("model.") for name in state)
            network.load_state_dict(dict(zip(names, state.values(), strict=True)))
    return network


def network_inputs(images: np.ndarray) -> Tensor:
    """Images (n, 32, 32, 3), uint8, as a network takes them: (n, 3, 32, 32) in [0, 1]."""
    return torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2) / 255


def update_step(
    params: Parameters, loss: Tensor, optimizer: Optimizer, state: State, rate: float
) -> tuple[Parameters, State, Parameters]:
    """Parameters and state after an update by the gradient of a loss, and that gradient."""
    grads = dict(zip(params, torch.autograd.grad(loss, [*params.values()]), strict=True))
    with torch.no_grad():
        updates, state = optimizer.update(grads, state, params, torch.tensor(rate).float())
        params = {name: (p + updates[name]).requires_grad_() for name, p in params.items()}
    return params, state, grads


def train(
    network: WideResNet, settings: Mapping[str, Any], images: np.ndarray, labels: np.ndarray
) -> WideResNet:
    """The network after `epochs` by Adam, whose rate falls to 0 in a straight line."""
    order = np.random.default_rng(settings["seed"])
    passes = [order.permutation(len(labels)) for _ in range(settings["epochs"])]
    count = settings["epochs"] * len(labels) // settings["batch"]
    params = dict(network.train().named_parameters())
    targets, optimizer = torch.tensor(labels).long(), catalogue.make("optimizer", "adam")
    state = optimizer.init(params)
    batches = np.array_split(np.concatenate(passes), count)
    for i, rows in enumerate(progress.bar(batches, "training", "batch")):
        logits = functional_call(network, params, network_inputs(images[rows]))
        rate = settings["learning_rate"] * (1 - i / count)
        loss = cross_entropy(logits, targets[rows])
        params, state, _ = update_step(params, loss, optimizer, state, rate)
    network.load_state_dict(params, strict=False)
    return network
