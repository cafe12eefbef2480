"""Online adaptation by LoRA: one pass, an update a token or a window, no replay."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import vmap

from orla import catalogue, progress
from orla.errors import OrlaError
from orla.language import texts
from orla.language.models import insert_adapters
from orla.language.steps import State, Steps
from orla.provenance import cost
from orla.statistics.means import moments
from orla.study import rates
from orla.study.chapter_jobs import LEARNERS, Rates

_READ = 64  # tokens that are read at once where nothing is learned
# Places of a text, and most tokens from each on, over which the frozen model's loss is measured.
_PLACES, _MOST = 32, 4096
_NORM_STRIDE = 8  # gradients are measured at the first of so many updates
_CHOICE_SEED = 1_000_000  # of the adapters by which rates are chosen, no seed of a study


class Updates:
    """The updates, in place, of the adapters' weights (models, ...) of a batch of models."""

    def __init__(self, weights: Mapping[str, nn.Parameter], by_optimizer: Rates) -> None:
        self._parts, first = [], 0
        for name, some in by_optimizer.items():
            rows = slice(first, first := first + len(some))
            params = {n: w.detach()[rows] for n, w in weights.items()}  # views
            optimizer = catalogue.make("optimizer", name)
            lr = next(iter(params.values())).new_tensor(some)
            if optimizer.elementwise:  # each number is updated alone, so that all models are one
                update, state, lr = optimizer.update, optimizer.init(params), lr[:, None, None]
            else:
                update, state = vmap(optimizer.update), vmap(optimizer.init)(params)
            self._parts.append([update, rows, state, params, lr])

    @torch.no_grad()
    def __call__(self, gradients: Mapping[str, Tensor]) -> None:
        """One update by the gradients (models, ...) of all weights."""
        for part in self._parts:
            update, rows, *arguments = part
            updates, part[2] = update({n: g[rows] for n, g in gradients.items()}, *arguments)
            for name, values in part[3].items():
                values += updates[name]


@torch.no_grad()
def token_losses(steps: Steps, tokens: Tensor, state: State | None = None) -> np.ndarray:
    """Loss (models, T) of each next token of (models, T + 1), by weights as they are."""
    state, losses = state or steps.start(len(tokens)), []
    for inputs, target in _input_target_windows(tokens, _READ):
        logits, state = steps(inputs, state)
        losses.append(F.cross_entropy(logits.mT, target, reduction="none"))
    return torch.cat(losses, 1).numpy()


def _input_target_windows(tokens: Tensor, size: int) -> list[tuple[Tensor, ...]]:
    """Tokens that are read and the next ones, in windows of `size`."""
    return [*zip(*(part.split(size, 1) for part in (tokens[:, :-1], tokens[:, 1:])), strict=True)]


def adapt(
    steps: Steps,
    weights: Mapping[str, nn.Parameter],
    by_optimizer: Rates,
    tokens: Tensor,
    learner: str,
    heldout_start: float = math.inf,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Adapt the models of a batch, each to its row of tokens (models, T + 1), by one of `LEARNERS`.

    The model `steps` has adapters of these weights in it, which are changed in place. Returned are
    the loss (models, T) of each token before it is learned; the same by the weights as they are at
    the first window that begins after `heldout_start` tokens or more, NaN before it; and by layer
    the norm (models,) of the gradient of its A and B together, mean of every 8th update.
    """
    update, state = Updates(weights, by_optimizer), steps.start(len(tokens))
    norms, losses, position = Counter(), [], 0
    heldout = np.full(tokens[:, 1:].shape, np.nan)
    windows, label = _input_target_windows(tokens, LEARNERS[learner]), f"adapting by {learner}"
    with cost.work_phase(label, heldout.size):
        for inputs, target in progress.bar(windows, label, "update"):
            if position >= heldout_start:
                heldout[:, position:] = token_losses(steps, tokens[:, position:], state)
                heldout_start = math.inf
            logits, state = steps(inputs, state)
            loss = F.cross_entropy(logits.mT, target, reduction="none")
            grads = torch.autograd.grad(loss.mean(1).sum(), list(weights.values()))
            gradients = dict(zip(weights, grads, strict=True))
            state = [tuple(s.detach() for s in layer) for layer in state]
            losses.append(loss.detach())
            if len(losses) % _NORM_STRIDE == 1:
                squares = Counter()
                for name, gradient in gradients.items():  # "LAYER.A"
                    squares[name.rpartition(".")[0]] += gradient.square().sum((1, 2))
                norms.update({layer: value.sqrt() for layer, value in squares.items()})
            update(gradients)
            position += len(target[0])
    count = -(-len(losses) // _NORM_STRIDE)
    loss = torch.cat(losses, 1).numpy()
    norms = {layer: value.numpy() / count for layer, value in norms.items()}
    return loss, heldout.astype(loss.dtype), norms


def domain_loss_and_standard_error(steps: Steps, text: Sequence[int]) -> tuple[float, float]:
    """The loss over a whole text of tokens, and its standard error over places; or NaN."""
    length = len(text) // _PLACES
    if length < 2:
        return math.nan, math.nan
    places = torch.tensor(text[: _PLACES * length]).view(_PLACES, length)[:, :_MOST]
    parts = places.split(_PLACES // 4)  # fewer at once than models are adapted
    over = moments(np.concatenate([token_losses(steps, part).mean(1) for part in parts]))
    return over.mean, over.standard_error


def losses_and_norms(
    steps: Steps,
    domain_texts: Mapping[str, Mapping[str, str]],
    settings: Mapping[str, Any],
    rank: int,
    rates_by_learner: Mapping[str, Rates],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables of losses and of norms of gradients, of one model that has no adapters yet.

    Losses have a row a learner, optimizer, stream, seed and bin of tokens, with the frozen model's
    over all of the bin's domain (`domain_loss_and_standard_error`); norms a row a learner,
    optimizer, stream, seed and layer. `domain_texts` are parts of each domain's text, `settings` is
    ``language`` of the config. OrlaError: every rate of an optimizer diverges, or a text is too
    short.
    """
    streams, size, length = settings["streams"], settings["bin"], settings["tokens"]
    seeds, freeze = settings["seeds"], round(length * (1 - settings["heldout"]))
    choice_texts, stream_texts = (
        {name: steps.encode(parts[part]) for name, parts in domain_texts.items()}
        for part in ("choosing", "streams")
    )
    choice_tokens = texts.token_stream(choice_texts, streams[0], settings["choosing"], 0.0)
    places = [*product(range(len(streams)), range(seeds))]
    tokens = torch.stack(
        [texts.token_stream(stream_texts, streams[i], length, seed / seeds) for i, seed in places]
    )
    frozen = token_losses(steps, tokens)
    domains = {
        name: domain_loss_and_standard_error(steps, text) for name, text in stream_texts.items()
    }
    losses, norms, index = [], [], np.arange(length // size)
    for learner, grids in rates_by_learner.items():
        best = _best_rates(steps, rank, choice_tokens, learner, grids)
        weights = insert_adapters(steps, rank, [seed for _, seed in places] * len(best))
        by_optimizer = {name: [rate] * len(places) for name, (rate, _) in best.items()}
        rows = tokens.repeat(len(best), 1)
        loss, heldout, by_layer = adapt(steps, weights, by_optimizer, rows, learner, freeze)
        for model, (name, (i, seed)) in enumerate(product(best, places)):
            row = {"rank": rank, "learner": learner, "optimizer": name, "seed": seed}
            row |= {"rate": best[name][0], "edge": best[name][1], "stream": i}
            norms += [row | {"layer": n, "norm": float(v[model])} for n, v in by_layer.items()]
            segment = index * len(streams[i]) // len(index)
            row |= {"token": size * index, "segment": segment}
            frame = pd.DataFrame(row | {"domain": [streams[i][s] for s in segment]})
            frame[["domain_loss", "domain_error"]] = [domains[name] for name in frame["domain"]]
            series = frozen[model % len(places)], loss[model], heldout[model]
            frame[["frozen", "loss", "heldout"]] = np.reshape(series, (3, -1, size)).mean(2).T
            losses.append(frame)
    return pd.concat(losses, ignore_index=True), pd.DataFrame(norms)


def _best_rates(
    steps: Steps, rank: int, tokens: Tensor, learner: str, grids: Rates
) -> dict[str, tuple[float, bool]]:
    """Each optimizer's rate of the lowest loss after the shift, and whether that ends its grid."""
    models = sum(map(len, grids.values()))
    weights = insert_adapters(steps, rank, [_CHOICE_SEED] * models)
    loss, *_ = adapt(steps, weights, grids, tokens.expand(models, -1), learner)
    loss_by_model, best = iter(loss[:, loss.shape[1] // 2 :].mean(1)), {}
    for name, grid in grids.items():
        scores = {rates.half_decade_index(rate): next(loss_by_model) for rate in grid}
        if not np.isfinite([*scores.values()]).any():
            raise OrlaError(f"{name} diverges at every rate of its grid; give smaller rates")
        best[name] = (
            rates.half_decade(rates.lowest_error_index(scores)),
            rates.best_on_edge(scores),
        )
    return best
