"""Adaptation to a stream of test images by the entropy of a network's predictions (TENT).

Source: Wang et al. (2021). The loss is the mean entropy of a batch; each batch is predicted, then
learned; batch normalization takes the statistics of the batch.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call

from orla import catalogue
from orla.architectures.base import Parameters
from orla.optimizers.base import Optimizer
from orla.study import rates
from orla.vision.corruptions import EXTRA, SCORED
from orla.vision.images import LabelledImages
from orla.vision.networks import network_inputs, update_step

# What adapts: nothing, batch normalization's weights, or adapters; else its statistics alone.
FROZEN, BN, LORA = "none", "bn", "lora"


def adaptable_parameters(network: nn.Module, adapts: str, rank: int, seed: int) -> Parameters:
    """What is adapted: weights and biases of batch normalization, or A and B of each convolution.

    A (rank, inputs) is uniform within 1 / sqrt(inputs), B (outputs, rank) is zero.
    """
    params, generator = {}, torch.Generator().manual_seed(seed)
    for name, module in network.named_modules():
        if adapts == BN and isinstance(module, nn.BatchNorm2d):
            params |= {f"{name}.{n}": p.detach().clone() for n, p in module.named_parameters()}
        if adapts == LORA and isinstance(module, nn.Conv2d):
            outputs, inward = module.weight.flatten(1).shape
            factor = (2 * torch.rand(rank, inward, generator=generator) - 1) / math.sqrt(inward)
            params |= {f"{name}.A": factor, f"{name}.B": torch.zeros(outputs, rank)}
    return {name: p.requires_grad_() for name, p in params.items()}


def logits(network: nn.Module, params: Parameters, x: Tensor) -> Tensor:
    """Logits of a network with these parameters; a convolution with adapters has W + B A."""
    weights = {name: p for name, p in params.items() if name[-2:] not in (".A", ".B")}
    for name in (name[:-2] for name in params if name.endswith(".A")):
        weight = network.get_parameter(f"{name}.weight").detach()
        change = params[f"{name}.B"] @ params[f"{name}.A"]
        weights[f"{name}.weight"] = weight + change.view_as(weight)
    return functional_call(network, weights, x)


def error_and_gradient_norms(
    network: nn.Module,
    params: Parameters,
    batches: Sequence[tuple[Tensor, Tensor]],
    optimizer: Optimizer | None,
    learning_rate: float,
) -> tuple[float, dict[str, float]]:
    """Error (%) of one adapting pass over batches, and each layer's norm of gradients.

    Batches are of images and labels; norms are root mean squares over batches.
    """
    wrong, squares = [], Counter()
    state = optimizer.init(params) if optimizer else {}
    for x, y in batches:
        with torch.set_grad_enabled(optimizer is not None):
            z = logits(network, params, x)
        wrong.append(z.argmax(1) != y)
        if optimizer:
            entropy = -(z.softmax(1) * z.log_softmax(1)).sum(1).mean()
            params, state, gradients = update_step(params, entropy, optimizer, state, learning_rate)
            for name, g in gradients.items():
                squares[name.rpartition(".")[0]] += float((g * g).sum()) / len(batches)
    error = 100 * float(torch.cat(wrong).double().mean())
    return error, {layer: math.sqrt(square) for layer, square in squares.items()}


def adaptation_table(
    network: nn.Module,
    streams: Mapping[str, LabelledImages],
    settings: Mapping[str, Any],
    adapts: str,
    optimizer_name: str,
    optimizer_spec: Mapping[str, Any],
    grid_growth: int,
) -> pd.DataFrame:
    """Errors and gradients of one optimizer at the rate that is best on the corruptions `EXTRA`.

    Every corruption begins with the network as trained. `settings`, `grid_growth` are the config's
    `vision` and `grid_growth`; `optimizer_spec` is what the optimizer's name stands for, {} for
    none. Columns are adapts, optimizer, learning_rate, edge (whether that is the grid's), tuning
    (whether on `EXTRA`), corruption, seed, measure (error in %, or gradient_norm), layer and value.
    """
    # In training batch normalization takes the statistics of the batch.
    network = copy.deepcopy(network).train(adapts != FROZEN)
    optimizer = catalogue.make("optimizer", optimizer_spec) if optimizer_spec else None
    table, scores = [], {}

    def rows(names: Iterable[str], seed: int, rate: float) -> Iterator[dict[str, Any]]:
        for corruption in names:
            images, labels = streams[corruption]
            order = np.random.default_rng(seed).permutation(len(labels))
            pair = network_inputs(images[order]), torch.from_numpy(labels[order].astype(np.int64))
            batches = [*zip(*(values.split(settings["batch"]) for values in pair), strict=True)]
            params = adaptable_parameters(network, adapts, settings["rank"], seed)
            error, norms = error_and_gradient_norms(network, params, batches, optimizer, rate)
            row = {"learning_rate": rate, "tuning": corruption in EXTRA, "corruption": corruption}
            for layer, value in ({"": error} | norms).items():
                measure = "gradient_norm" if layer else "error"
                yield row | {"seed": seed, "measure": measure, "layer": layer, "value": value}

    first = rates.grid_indices(settings["rates"][adapts][optimizer_name]) if optimizer_spec else []
    todo = [*first]
    while todo:
        trial = [*rows(EXTRA, 0, rates.half_decade(index := todo.pop()))]
        scores[index] = np.array([row["value"] for row in trial if row["measure"] == "error"])
        table += trial
        if not todo and (beyond := rates.next_rate_index(scores, first, grid_growth)) is not None:
            todo = [beyond]
    rate = rates.half_decade(rates.lowest_error_index(scores)) if optimizer_spec else math.nan
    for seed in range(settings["seeds"]):
        table += rows(SCORED if optimizer_spec else ["clean", *SCORED], seed, rate)
    edge = bool(optimizer_spec) and rates.best_on_edge(scores)
    return pd.DataFrame(table).assign(adapts=adapts, optimizer=optimizer_name, edge=edge)
