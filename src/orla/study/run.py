"""One condition, ready to run: networks, episode, learner and all that belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orla import catalogue
from orla.architectures.base import Parameters
from orla.engine import memory
from orla.engine.forward import outputs_of
from orla.engine.loop import Loop, StreamTensors, loop_of
from orla.engine.state import dtype_of
from orla.losses.base import Loss
from orla.programs import compiling
from orla.provenance import cost
from orla.study import efficiency, refits, scores
from orla.study.batches import (
    apply_start,
    initial_parameters,
    measure_in_batches,
    models_at,
    stream_tensors,
)
from orla.study.scores import Scores
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

# Least models of a batch of frozen networks that runs by a compiled program.
FORWARD_MODELS = 5


@dataclass(frozen=True)
class ConditionRun:
    """One condition.

    Attributes:
        keys: its key columns (`study.keys.KEYS`).
        networks: starting parameters, (seeds, ...) each; their precision is that of the run.
        loop: with the episode's loss and segments of its windows; its compiled programs serve all
            batches.
        batch_models: models that are computed together; changes the last digits only.
        shared_baseline: `baseline` of another condition with the same episode and at least these
            networks, so that it is computed once.
        with_costs_and_refits: whether `baseline` has costs of networks, else NaN, and the scores of
            refitted decoders.
    """

    keys: Mapping[str, str]
    networks: Parameters
    episode: Episode
    loop: Loop
    batch_models: int = 5
    device: torch.device | str = "cpu"
    shared_baseline: Mapping[str, np.ndarray] | None = None
    with_costs_and_refits: bool = True

    @property
    def loss(self) -> Loss:
        return self.loop.loss

    @property
    def seeds(self) -> int:
        return len(next(iter(self.networks.values())))

    @property
    def dtype(self) -> torch.dtype:
        return next(iter(self.networks.values())).dtype

    @property
    def adapt_steps(self) -> int:
        return len(self.episode.adapt)

    @property
    def rate_selection_steps(self) -> int:
        """First steps of the adapt part, by which the learning rate is chosen."""
        return self.episode.rate_selection_steps or self.adapt_steps

    @property
    def heldout(self) -> slice:
        """The held-out part of `whole`."""
        return slice(self.adapt_steps, len(self._whole))

    def tensor(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(array, dtype=self.dtype, device=self.device)

    def starting_parameters(self, seed: np.ndarray) -> Parameters:
        """The starting parameters of these seeds."""
        params = models_at(self.networks, torch.as_tensor(seed))
        return {name: p.to(self.device) for name, p in params.items()}

    def stream_tensors(self, stream: Stream, seed: np.ndarray) -> StreamTensors:
        """A stream as tensors for the models of these seeds."""
        return stream_tensors(stream, seed, self.dtype, self.device)

    def whole_tensors(self, seed: np.ndarray) -> StreamTensors:
        """The adapt part and the held-out part as one stream, for the models of these seeds."""
        return self.stream_tensors(self._whole, seed)

    @cached_property
    def _whole(self) -> Stream:
        return self.episode.whole

    def frozen_outputs(
        self, params: Parameters, state: Tensor | None, stream: StreamTensors
    ) -> Tensor:
        """Outputs (models, steps, n_out) of frozen networks; with None from the initial state."""
        models = len(next(iter(params.values())))
        if compiling.enabled() and models < FORWARD_MODELS:
            index = torch.arange(FORWARD_MODELS, device=self.device).clamp(max=models - 1)
            params, state = models_at(params, index), None if state is None else state[index]
            if stream["x"].dim() == 3:
                stream = {n: stream[n][:, index] for n in ("x", "starts") if n in stream}
        return outputs_of(self.loop.learner.architecture, params, state, stream)[:models]

    def frozen_scores(
        self,
        params: Parameters,
        state: Tensor,
        whole_tensors: StreamTensors,
        part_slice: slice,
        since: int,
    ) -> Scores:
        """Scores of models on a part of a whole stream, weights and state of step `since`."""
        stream = {name: m[since : part_slice.stop] for name, m in whole_tensors.items()}
        outputs = self.frozen_outputs(params, state, stream)
        return scores.mean_scores(self.loss, outputs, stream, slice(part_slice.start - since, None))

    @cached_property
    def baseline(self) -> dict[str, np.ndarray]:
        """Errors of the networks that do not adapt: (seeds,) each, and "frozen_trace" by window.

        "frozen_heldout_error", "frozen_adapt_error", "frozen_validation_error",
        "reference_error" (NaN without a reference) and "constant_error", of the best constant
        outputs on the held-out part; "frozen_{score}" and "reference_{score}" for each of the
        loss's further scores; of `refits.heldout_decoder_scores` and `efficiency.measure_costs`.
        """
        if self.shared_baseline is not None:
            return {name: values[: self.seeds] for name, values in self.shared_baseline.items()}
        heldout = self.episode.heldout
        constant = scores.constant_errors(self.loss, heldout, self.episode.n_out)
        stream = np.arange(self.seeds) if heldout.per_seed else np.zeros(self.seeds, dtype=int)
        measures = measure_in_batches(self.seeds, self.batch_models, self._frozen_batch_scores)
        measures["constant_error"] = constant[stream]
        network = self.loop.learner.architecture
        if not self.with_costs_and_refits:
            return measures | dict.fromkeys(efficiency.MEASURES, np.full(self.seeds, np.nan))
        measures |= efficiency.measure_costs(network, self.networks, heldout)
        with cost.phase("scoring"):
            measures |= refits.heldout_decoder_scores(
                self.episode, self.loss, network, self.networks
            )
        return measures

    def _frozen_batch_scores(self, seed: np.ndarray) -> dict[str, np.ndarray]:
        """The entries of `baseline` that networks of these seeds are run for."""
        episode, params = self.episode, self.starting_parameters(seed)
        whole_tensors = self.whole_tensors(seed)
        outputs = self.frozen_outputs(params, None, whole_tensors)
        adapt = {name: m[: self.adapt_steps] for name, m in whole_tensors.items()}
        step_errors = scores.step_errors(self.loss, outputs[:, : self.adapt_steps], adapt)
        parts = {
            "heldout": self.heldout,
            "adapt": slice(0, self.adapt_steps),
            "validation": slice(episode.selection_cut, self.adapt_steps),
        }
        by_part = {
            n: scores.mean_scores(self.loss, outputs, whole_tensors, p) for n, p in parts.items()
        }
        further_scores = by_part["heldout"][1]
        none = np.full(len(seed), np.nan)
        reference, of_reference = none, dict.fromkeys(further_scores, none)
        if episode.reference is not None:
            stream = self.stream_tensors(episode.reference, seed)
            before = self.frozen_outputs(params, None, stream)
            part_slice = slice(episode.reference_from, None)
            reference, of_reference = scores.mean_scores(self.loss, before, stream, part_slice)
        mask = scores.entry_models_first(adapt, "scored")
        return {
            **{f"frozen_{name}_error": error for name, (error, _) in by_part.items()},
            **{f"frozen_{name}": score for name, score in further_scores.items()},
            "reference_error": reference,
            **{f"reference_{name}": score for name, score in of_reference.items()},
            "frozen_trace": scores.window_means(step_errors, mask, episode.window),
        }


def make_run(
    job: Mapping[str, Any],
    episode: Episode,
    networks: Parameters | None,
    *,
    max_models: int,
    device: torch.device | str = "cpu",
    baseline: Mapping[str, np.ndarray] | None = None,
) -> ConditionRun:
    """The run of a condition, from the plain data that a workflow rule gives.

    Args:
        job: From `plan.Plan.job`.
        networks: Pretrained networks, at least one a seed; None for a start without pretraining.
        max_models: Models that are computed together, fewer of those that fill a cache.
        baseline: `ConditionRun.shared_baseline`, of a condition with the same start; None to
            compute it.
    """
    loss = catalogue.make("loss", episode.loss)
    loop = loop_of(job, episode.n_in, episode.n_out, loss, episode.window)
    architecture, seeds = loop.learner.architecture, range(job["seeds"])
    dtype = dtype_of(job["keys"]["precision"], job.get("format"))
    if networks is None:
        networks = initial_parameters(architecture, seeds, dtype)
    start = catalogue.make("start", job["start"])
    return ConditionRun(
        keys=job["keys"],
        networks=apply_start(start, architecture, networks, seeds),
        episode=episode,
        loop=loop,
        batch_models=memory.cache_batch_size(loop, max_models, dtype, torch.device(device).type),
        device=device,
        shared_baseline=baseline,
    )


def compile_programs(runs: Iterable[ConditionRun]) -> list[Path]:
    """Compile and keep the programs that sweeps of these conditions will load; return their places.

    Each run is taken through one update of a batch, and its networks frozen before and after it,
    for which initial networks will do. Compilation is configured before
    (`programs.compiling.configure`), and the process runs no sweep afterwards.
    """
    paths: dict[Path, None] = {}

    def record_and_accept(path: Path) -> bool:
        paths[path] = None
        return True

    with cost.phase("compiling"), compiling.compile_only(record_and_accept):
        for run in runs:
            seed = np.zeros(run.batch_models, dtype=int)
            stream = run.episode.adapt.slice_steps(slice(run.loop.learner.stride))
            some = run.stream_tensors(stream, seed)
            state = run.loop.start(run.starting_parameters(seed), seeds=seed.tolist())
            run.loop.run(state, run.tensor(np.full(len(seed), 1e-4)), some)
            run.frozen_outputs(run.starting_parameters(seed), None, some)
            run.frozen_outputs(state.params, state.network, some)
    return list(paths)
