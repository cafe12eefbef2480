"""Pretraining of the networks that adapt later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from orla import catalogue, progress
from orla.architectures.base import Architecture, Parameters
from orla.engine import forward
from orla.engine.loop import Loop, StreamTensors
from orla.errors import OrlaError
from orla.interventions.base import Gradients, Intervention, State
from orla.learners.tbptt import TBPTT
from orla.losses.base import Loss
from orla.optimizers.adam import Adam
from orla.study import scores
from orla.study.batches import initial_parameters, models_at, stream_tensors
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Pretraining:
    """How networks are pretrained; a source for each number stands in docs/protocol.md.

    learning_rate: of the optimizer.
    window: steps of TBPTT, and between two updates.
    validation_fraction: last share of the pretraining part, used for early stopping alone.
    max_epochs: most passes over the rest.
    patience: epochs without a lower validation error after which a network stops.
    optimizer: its name, or a mapping of ``kind`` and options.
    frozen: names of parameters that stay as they were initialised.
    """

    learning_rate: float = 1e-3
    window: int = 1
    validation_fraction: float = 0.1
    max_epochs: int = 60
    patience: int = 5
    optimizer: str | Mapping[str, Any] = Adam.part.name
    frozen: Sequence[str] = ()


@dataclass(frozen=True)
class _Freeze(Intervention):
    """No gradient of some parameters, so that no optimizer changes them or counts them in norms."""

    names: tuple[str, ...]

    def update(
        self, gradients: Gradients, state: State, params: Parameters
    ) -> tuple[Parameters, State]:
        return {name: g for name, g in gradients.own.items() if name not in self.names}, state


def check_frozen(architecture: Architecture, names: Sequence[str]) -> None:
    """Refuse names that are no parameters of a network."""
    shapes = architecture.shapes()
    for name in names:
        if name not in shapes:
            raise OrlaError(
                f'pretraining: "frozen" names {name}, which is no parameter of the network; it has'
                f" {', '.join(shapes)}"
            )


def pretrain(
    architecture: Architecture,
    stream: Stream,
    seeds: Sequence[int],
    settings: Pretraining,
    loss: Loss,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    batch_models: int = 5,
) -> tuple[Parameters, pd.DataFrame]:
    """Train one network a seed on an episode's pretraining part, `batch_models` together.

    A network does not depend on the other seeds, but for its last digits. Where seeds have streams
    of their own, `stream` has those of `seeds`.

    Returns:
        Each network's parameters at its best validation error, (seeds, ...) each, on the CPU; and
        its learning curve: seed, epoch, training_error, validation_error, best (bool).
    """
    check_frozen(architecture, settings.frozen)
    span = max(forward.SEGMENT, settings.window)
    span += -span % settings.window
    training_steps = int(len(stream) * (1.0 - settings.validation_fraction)) // span * span
    if not 0 < training_steps < len(stream):
        raise OrlaError(
            f"pretraining: {len(stream)} steps leave nothing to learn on or to validate with;"
            " take a longer session, a shorter parts.tail_steps or a shorter pretraining.window"
        )
    loop = Loop(
        TBPTT(architecture, window=settings.window, update_every=settings.window),
        catalogue.make("optimizer", settings.optimizer),
        loss,
        interventions=[_Freeze(tuple(settings.frozen))] if settings.frozen else [],
        segment=span,
        passes=settings.max_epochs * -(-len(seeds) // batch_models),
    )
    fresh = {k: p.to(device) for k, p in initial_parameters(architecture, seeds, dtype).items()}

    def split(index: np.ndarray) -> tuple[StreamTensors, StreamTensors]:
        """Streams of networks, to learn on and to validate with."""
        whole = stream_tensors(stream, index, dtype, device)
        parts = slice(training_steps), slice(training_steps, None)
        return tuple({name: m[part] for name, m in whole.items()} for part in parts)

    name = f"pretraining {len(seeds)} networks, windows of {settings.window}"
    with progress.bar(len(seeds) * settings.max_epochs, name, "epoch") as bar:
        best, curve = _train_networks(loop, settings, fresh, split, batch_models, bar)
    curve = curve.sort_values(["epoch", "seed"], ignore_index=True)
    curve["seed"] = np.asarray(seeds)[curve["seed"]]
    errors = curve.groupby("seed")["validation_error"]
    curve["best"] = curve["validation_error"] == errors.transform("min")
    for seed, error in errors.min().items():
        if not error <= scores.DIVERGED_ABOVE:
            raise OrlaError(
                f"pretraining: the network of seed {seed} diverged: its lowest validation error is"
                f" {error:.3g}; lower pretraining.learning_rate"
            )
    return {name: p.cpu() for name, p in best.items()}, curve


def _train_networks(
    loop: Loop,
    settings: Pretraining,
    initial: Parameters,
    split: Callable[[np.ndarray], tuple[StreamTensors, StreamTensors]],
    batch_models: int,
    bar: Any,
) -> tuple[Parameters, pd.DataFrame]:
    """The best weights of each network, and the curves by its number, `batch_models` at a time.

    Each network stops early, and the next one that waits takes its place in the batch.
    """
    count = len(initial["W_out"])
    lowest, stale, age = np.full(count, np.inf), np.zeros(count, int), np.zeros(count, int)
    # Number of the network in each place; copies fill up a batch of too few.
    places, waiting = np.arange(batch_models), batch_models
    index, active = np.minimum(places, count - 1), places < count
    best, curves = {name: p.clone() for name, p in initial.items()}, []
    params, optimizer, streams = models_at(initial, torch.as_tensor(index)), None, split(index)
    rates = params["W_out"].new_full((batch_models,), settings.learning_rate)
    while active.any():
        training, validation = streams
        state = loop.start(params, optimizer=optimizer)
        errors = loop.run(state, rates, training).errors
        params, optimizer = state.params, state.optimizer
        architecture = loop.learner.architecture
        outputs = forward.outputs_of(architecture, params, state.network, validation)
        error, _ = scores.mean_scores(loop.loss, outputs, validation)
        training_error = scores.mean_adapting_error(
            errors, scores.entry_models_first(training, "scored")
        )
        places, networks = np.flatnonzero(active), index[active]
        better = error[places] < lowest[networks]
        lowest[networks] = np.where(better, error[places], lowest[networks])
        stale[networks] = np.where(better, 0, stale[networks] + 1)
        for name, p in best.items():
            p[networks[better]] = params[name][places[better]]
        rows = {"seed": networks, "epoch": age[networks], "training_error": training_error[places]}
        curves.append(pd.DataFrame({**rows, "validation_error": error[places]}))
        age[networks] += 1
        ends = (stale >= settings.patience) | (age >= settings.max_epochs)
        free_places = places[ends[networks]]
        for place in free_places:
            progress.advance(bar, settings.max_epochs - int(age[index[place]]))
            active[place] = waiting < count
            if active[place]:
                index[place], waiting = waiting, waiting + 1
                new = loop.start(models_at(initial, torch.as_tensor(index[[place]])))
                for old, one in ((params, new.params), (optimizer, new.optimizer)):
                    for name, values in one.items():
                        old[name][place] = values[0]
        if active[free_places].any():  # by another network
            streams = split(index)
        progress.advance(bar, len(networks))
    return best, pd.concat(curves)
