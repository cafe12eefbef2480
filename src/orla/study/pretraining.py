"""Pretraining of the networks that adapt later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from orla.study.batches import batch_indices, initial_parameters, models_at, stream_tensors
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
    groups = list(batch_indices(len(seeds), batch_models))
    passes = settings.max_epochs * len(groups)
    loop = Loop(
        TBPTT(architecture, window=settings.window, update_every=settings.window),
        catalogue.make("optimizer", settings.optimizer),
        loss,
        interventions=[_Freeze(tuple(settings.frozen))] if settings.frozen else [],
        segment=span,
        passes=passes,
    )
    fresh = {k: p.to(device) for k, p in initial_parameters(architecture, seeds, dtype).items()}
    best_networks, curves = [], []
    name = f"pretraining {len(seeds)} networks, windows of {settings.window}"
    with progress.bar(passes, name, "epoch") as bar:
        for index, count in groups:
            whole = stream_tensors(stream, index, dtype, device)
            training = {name: m[:training_steps] for name, m in whole.items()}
            validation = {name: m[training_steps:] for name, m in whole.items()}
            params = models_at(fresh, torch.as_tensor(index, device=device))
            best, curve = _train_batch(loop, settings, params, training, validation, bar)
            best_networks.append({name: p[:count] for name, p in best.items()})
            curve = curve[curve["seed"] < count]
            curves.append(curve.assign(seed=np.asarray(seeds)[index][curve["seed"]]))
    curve = pd.concat(curves).sort_values("epoch", kind="stable", ignore_index=True)
    errors = curve.groupby("seed")["validation_error"]
    curve["best"] = curve["validation_error"] == errors.transform("min")
    for seed, error in errors.min().items():
        if not error <= scores.DIVERGED_ABOVE:
            raise OrlaError(
                f"pretraining: the network of seed {seed} diverged: its lowest validation error is"
                f" {error:.3g}; lower pretraining.learning_rate"
            )
    return {k: torch.cat([best[k] for best in best_networks]).cpu() for k in fresh}, curve


def _train_batch(
    loop: Loop,
    settings: Pretraining,
    params: Parameters,
    training: StreamTensors,
    validation: StreamTensors,
    bar: Any,
) -> tuple[Parameters, pd.DataFrame]:
    """The best weights and the curve, by place in the batch; each network stops early."""
    best = {name: p.clone() for name, p in params.items()}
    rates = params["W_out"].new_full((len(params["W_out"]),), settings.learning_rate)
    lowest, stale = np.full(len(rates), np.inf), np.zeros(len(rates), dtype=int)
    optimizer, epochs = None, []
    for epoch in range(settings.max_epochs):
        active = stale < settings.patience
        if not active.any():
            break
        state = loop.start(params, optimizer=optimizer)
        errors = loop.run(state, rates, training).errors
        params, optimizer = state.params, state.optimizer
        architecture = loop.learner.architecture
        outputs = forward.outputs_of(architecture, params, state.network, validation)
        error, _ = scores.mean_scores(loop.loss, outputs, validation)
        better = active & (error < lowest)
        lowest = np.where(better, error, lowest)
        stale = np.where(better, 0, stale + 1)
        keep = torch.as_tensor(better, device=rates.device)
        for name, p in best.items():
            p[keep] = params[name][keep]
        training_error = scores.mean_adapting_error(
            errors, scores.entry_models_first(training, "scored")
        )
        rows = {"seed": np.arange(len(rates)), "epoch": epoch, "training_error": training_error}
        epochs.append(pd.DataFrame({**rows, "validation_error": error})[active])
        progress.advance(bar, 1)
    return best, pd.concat(epochs)
