"""Online adaptation by LoRA: one pass, an update a token or a window, no replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import vmap

from orla import catalogue, progress
from orla.errors import OrlaError
from orla.language import texts
from orla.language.models import Language, insert_adapters
from orla.language.steps import State, Steps
from orla.optimizers.base import Optimizer
from orla.provenance import cost
from orla.statistics.means import moments
from orla.study import rates

# Learner -> tokens that its gradient goes through, and between two updates.
LEARNERS = {"immediate": 1, "tbptt-64": 64}
# Tokens that are read at once where nothing is learned.
_READ = 64
# Places of a text, and most tokens from each on, over which the frozen model's loss is measured.
_PLACES, _MOST = 32, 4096
# Gradients are measured at the first of so many updates.
_MEASURED = 8
# Seed of the adapters by which rates are chosen, no seed of a study.
_CHOOSING = 1_000_000


class Group(NamedTuple):
    """Consecutive models of a batch that have one optimizer, and the rate of each."""

    optimizer: str
    rates: Sequence[float]


class Updates:
    """The updates, in place, of the adapters' weights (models, ...) of a batch of models.

    The models are those of the groups in order.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], groups: Iterable[Group]) -> None:
        self._parts: list[dict[str, Any]] = []
        self._weights, first = list(weights.values()), 0
        for group in groups:
            rows = slice(first, first := first + len(group.rates))
            optimizer = catalogue.make("optimizer", group.optimizer)
            alike = defaultdict(list)
            for i, weight in enumerate(self._weights):
                alike[() if optimizer.elementwise else weight.shape[1:]].append(i)
            for shape, chosen in alike.items():
                values = _pack([self._weights[i].detach()[rows] for i in chosen], shape)
                rates = torch.tensor(group.rates, dtype=values.dtype)
                if shape:
                    rates = rates.repeat_interleave(len(chosen))
                    state = vmap(lambda p, of=optimizer: of.init({"": p}))(values)
                else:  # each number is updated alone, so that all models are one
                    rates, state = rates[:, None], optimizer.init({"": values})
                self._parts.append([optimizer, rows, shape, chosen, rates, state])

    @torch.no_grad()
    def __call__(self, gradients: Sequence[Tensor]) -> None:
        """One update by the gradients (models, ...) of all weights."""
        for part in self._parts:
            optimizer, rows, shape, chosen, rates, state = part
            weights = [self._weights[i][rows] for i in chosen]
            given = _pack([gradients[i][rows] for i in chosen], shape)

            def update(
                g: Tensor, p: Tensor, state: Any, rate: Tensor, of: Optimizer = optimizer
            ) -> tuple[Tensor, Any]:
                updates, after = of.update({"": g}, state, {"": p}, rate)
                return updates[""], after

            values = given, _pack(weights, shape), state, rates
            updates, part[-1] = (vmap(update) if shape else update)(*values)
            if shape:
                unpacked = updates.unflatten(0, (-1, len(chosen))).unbind(1)
            else:
                unpacked = updates.split([weight[0].numel() for weight in weights], 1)
            for weight, one in zip(weights, unpacked, strict=True):
                weight += one.view(weight.shape)


def _pack(values: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """Tensors (models, ...) as numbers (models, all); those of one shape as models of their own."""
    if shape:
        return torch.stack(values, 1).flatten(0, 1)
    return torch.cat([x.flatten(1) for x in values], 1)


@torch.no_grad()
def token_losses(steps: Steps, tokens: Tensor, state: State | None = None) -> np.ndarray:
    """Loss (models, T) of each next token of (models, T + 1), by weights as they are."""
    state, losses = state or steps.start(len(tokens)), []
    for inputs, target in _input_target_windows(tokens, _READ):
        logits, state = steps(inputs, state)
        losses.append(F.cross_entropy(logits.mT, target, reduction="none"))
    return torch.cat(losses, 1).numpy()


def _input_target_windows(tokens: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens that are read and the next ones, in windows of `size`."""
    yield from zip(tokens[:, :-1].split(size, 1), tokens[:, 1:].split(size, 1), strict=True)


class Pass(NamedTuple):
    """What one pass over a stream (models, tokens) leaves.

    loss: (models, tokens), of each token before it is learned.
    heldout: the same by the weights after the first part, NaN in this part.
    norms: (models,) by layer: norm of the gradient of its A and B together, mean of every 8th.
    """

    loss: np.ndarray
    heldout: np.ndarray
    norms: dict[str, np.ndarray]


def adapt(
    steps: Steps,
    weights: Mapping[str, nn.Parameter],
    groups: Sequence[Group],
    tokens: Tensor,
    learner: str,
    freeze: int | None = None,
    said: str = "",
) -> Pass:
    """Adapt the models of a batch, each to its row of tokens (models, T + 1), by one of `LEARNERS`.

    The model `steps` has adapters of these weights in it, which are changed in place. The first
    update after `freeze` tokens or more ends the part that is learned, for `Pass.heldout`; the pass
    goes on to learn. The progress bar says what is `said`.
    """
    update, state = Updates(weights, groups), steps.start(len(tokens))
    norms, losses, at, frozen_part = Counter(), [], 0, None
    count = tokens.shape[1] - 1
    with cost.work_phase(f"adapting by {learner}", tokens[:, 1:].numel()):
        bar = progress.bar(count, said, "token")
        for given, target in _input_target_windows(tokens, LEARNERS[learner]):
            if freeze is not None and frozen_part is None and at >= freeze:
                frozen_part = at, {n: w.detach().clone() for n, w in weights.items()}, dict(state)
            logits, state = steps(given, state)
            loss = F.cross_entropy(logits.mT, target, reduction="none")
            gradients = torch.autograd.grad(loss.mean(1).sum(), list(weights.values()))
            state = {name: s.detach() for name, s in state.items()}
            losses.append(loss.detach())
            if len(losses) % _MEASURED == 1:
                squared = Counter()
                for name, gradient in zip(weights, gradients, strict=True):  # "LAYER.A"
                    squared[name.rpartition(".")[0]] += gradient.square().sum((1, 2))
                for layer, value in squared.items():
                    norms[layer] += value.sqrt()
            update(gradients)
            at += len(target[0])
            bar.update(len(target[0]))
        bar.close()
    measured = -(-len(losses) // _MEASURED)
    loss = torch.cat(losses, 1).numpy()
    heldout = np.full_like(loss, np.nan)
    if frozen_part:
        at, values, state = frozen_part
        for name, weight in weights.items():
            weight.data.copy_(values[name])
        heldout[:, at:] = token_losses(steps, tokens[:, at:], state)
    return Pass(loss, heldout, {n: value.numpy() / measured for n, value in norms.items()})


def room_request(
    settings: Mapping[str, Any],
    adapters: Mapping[str, Any],
    grids: Mapping[str, Mapping[str, Sequence[float]]],
) -> dict[str, float]:
    """What a job needs, for `models.require_room`: "models", "tokens" and "most_hours".

    "models" of the largest batch (all streams and seeds, or all rates that are tried), and "tokens"
    that all read together.
    """
    learners, names = adapters["learners"], adapters["optimizers"]
    adapted_models = len(names) * len(settings["streams"]) * settings["seeds"]
    tried = (
        sum(len(_grid_rates(grids, n, _cadence(learner))) for n in names) for learner in learners
    )
    most = max(adapted_models, *tried)
    tokens = adapted_models * settings["tokens"] + most * settings["choosing"]
    hours = settings["most_hours"]
    return {"models": most, "tokens": len(learners) * tokens, "most_hours": hours}


def domain_losses(steps: Steps, text: Sequence[int], rows: int) -> tuple[float, float]:
    """The frozen model's loss over a whole text of tokens, and its standard error over places.

    So many places are read at once as the model has adapters, `rows`, which add nothing.
    """
    length = min(len(text) // _PLACES, _MOST)
    starts = [i * (len(text) // _PLACES) for i in range(_PLACES if length > 1 else 0)]
    means: list[float] = []
    for first in range(0, len(starts), rows):
        some = [text[at : at + length] for at in starts[first : first + rows]]
        batch = torch.tensor(some + some[:1] * (rows - len(some)))
        means += token_losses(steps, batch).mean(1)[: len(some)].tolist()
    over = moments(means)
    return over.mean, over.standard_error


def losses_and_norms(
    language: Language,
    domain_texts: Mapping[str, Mapping[str, str]],
    settings: Mapping[str, Any],
    adapters: Mapping[str, Any],
    grids: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables of losses and of norms of gradients, of one model with adapters of one rank.

    Losses have a row a learner, optimizer, stream, seed and bin of tokens, with the frozen model's
    over all of the bin's domain (`domain_losses`); norms a row a learner, optimizer, stream, seed
    and layer.

    Args:
        domain_texts: Parts of each domain's text.
        settings, adapters: ``language`` of the config, and an entry of its ``adapters``.
        grids: Rates by optimizer and cadence.

    Raises:
        OrlaError: A rate that is asked for lacks, every rate diverges, or a text is too short.
    """
    steps, rank, seeds = language.steps, adapters["rank"], range(settings["seeds"])
    streams, size, length = settings["streams"], settings["bin"], settings["tokens"]
    read_in = {
        part: {name: language.encode(parts[part]) for name, parts in domain_texts.items()}
        for part in ("choosing", "streams")
    }
    chosen_on = texts.token_stream(read_in["choosing"], streams[0], settings["choosing"], 0.0)
    rows, norms = [], []
    tokens = {
        (i, seed): texts.token_stream(read_in["streams"], stream, length, seed / len(seeds))
        for (i, stream), seed in product(enumerate(streams), seeds)
    }
    every = torch.stack(list(tokens.values()))
    insert_adapters(steps, rank, [0] * len(every))
    frozen = dict(zip(tokens, token_losses(steps, every), strict=True))
    whole = {n: domain_losses(steps, text, len(every)) for n, text in read_in["streams"].items()}
    for learner in adapters["learners"]:
        names = adapters["optimizers"]
        tried = {name: _grid_rates(grids, name, _cadence(learner)) for name in names}
        best = _best_rates(steps, rank, chosen_on, learner, tried, len(streams[0]))
        weights = insert_adapters(steps, rank, [seed for _ in names for _, seed in tokens])
        groups = [Group(name, [best[name][0]] * len(tokens)) for name in names]
        freeze = round(length * (1 - settings["heldout"]))
        batch = every.repeat(len(names), 1)
        adaptation = adapt(
            steps, weights, groups, batch, learner, freeze, f"{learner}, rank {rank}"
        )
        for at, (name, (i, seed)) in enumerate(product(names, tokens)):
            row = {"rank": rank, "learner": learner, "optimizer": name, "seed": seed}
            row |= {"rate": best[name][0], "edge": best[name][1]}
            norms += [
                row | {"stream": i, "layer": layer, "norm": float(value[at])}
                for layer, value in adaptation.norms.items()
            ]
            index = np.arange(length // size)
            segment = index * len(streams[i]) // len(index)
            frame = pd.DataFrame(row | {"stream": i, "token": size * index, "segment": segment})
            frame["domain"] = [streams[i][s] for s in segment]
            kinds = ("domain_loss", "domain_error")
            frame[[*kinds]] = [whole[domain] for domain in frame["domain"]]
            series = {
                "frozen": frozen[i, seed],
                "loss": adaptation.loss[at],
                "heldout": adaptation.heldout[at],
            }
            for kind, values in series.items():
                frame[kind] = values[: size * len(index)].reshape(-1, size).mean(1)
            rows.append(frame)
    return pd.concat(rows, ignore_index=True), pd.DataFrame(norms)


def _cadence(learner: str) -> str:
    """Whether a learner updates each "step" or each "window"."""
    return "step" if LEARNERS[learner] == 1 else "window"


def _grid_rates(
    grids: Mapping[str, Mapping[str, Sequence[float]]], optimizer: str, cadence: str
) -> Sequence[float]:
    """The rates of an optimizer for a cadence; OrlaError where the config has none."""
    if cadence not in grids.get(optimizer, {}):
        raise OrlaError(f'config: "grids.{optimizer}" has no rates for an update each {cadence}')
    return grids[optimizer][cadence]


def _best_rates(
    steps: Steps,
    rank: int,
    tokens: Tensor,
    learner: str,
    tried: Mapping[str, Sequence[float]],
    segments: int,
) -> dict[str, tuple[float, bool]]:
    """The best rate of each optimizer, and whether it lies on the edge of its grid.

    The best one has the lowest loss after the first segment of that text.
    """
    groups = [Group(name, grid) for name, grid in tried.items()]
    models = sum(len(group.rates) for group in groups)
    weights = insert_adapters(steps, rank, [_CHOOSING] * models)
    said = f"choosing rates for {learner}, rank {rank}"
    loss = adapt(steps, weights, groups, tokens.expand(models, -1), learner, said=said).loss
    after = loss[:, loss.shape[1] // segments :].mean(1)
    chosen, first = {}, 0
    for name, grid in groups:
        some = after[first : (first := first + len(grid))]
        if not np.isfinite(some).any():
            raise OrlaError(f"{name} diverges at every rate of its grid; give smaller rates")
        scores = dict(zip(map(rates.half_decade_index, grid), some, strict=True))
        chosen[name] = rates.half_decade(rates.best_index(scores)), rates.best_on_edge(scores)
    return chosen
