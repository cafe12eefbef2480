"""The loop: a stream, a network, a learner and an optimizer, over a batch of models."""

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.architectures.base import Parameters, column_major
from orla.engine.network import network_of
from orla.engine.state import State, fixed_noise
from orla.engine.steps import Steps
from orla.engine.update import Parts, StreamTensors
from orla.engine.windows import Windows
from orla.errors import OrlaError
from orla.losses.base import Loss
from orla.provenance import cost


@dataclass(frozen=True)
class Adaptation:
    """The result of a run, models on the first axis.

    errors: (models, steps) of each step, before its update; 0 where a step is not scored.
    series: What the probes measured, (models, updates, looks or times kept, ...) each.
    snapshots: {step: (params, network state)} after that many steps of the stream.
    """

    errors: np.ndarray
    state: State
    series: dict[str, np.ndarray]
    snapshots: dict[int, tuple[Parameters, Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class Loop(Parts):
    """Adapts batches of models; compiled once for each shape.

    segment: Steps that are processed in one piece, a multiple of the learner's stride.
    passes: Runs that are planned with this loop, about; many are worth more compilation.
    """

    segment: int = 200
    passes: int = 1

    def __post_init__(self) -> None:
        if self.segment % self.learner.stride:
            raise OrlaError(
                f"a segment of {self.segment} steps does not hold a whole number of updates, one"
                f" every {self.learner.stride} steps; make the task's window a multiple of that"
            )
        for name, observer in self.observers.items():
            if observer.stride not in (1, self.learner.stride):
                raise OrlaError(
                    f"observer {name} answers every {observer.stride} steps and the learner updates"
                    f" every {self.learner.stride}; give both one stride, or the observer 1"
                )
        for part in (*self.interventions, *self.probes):
            for name in part.observers():
                if name not in self.observers:
                    raise OrlaError(
                        f"{part.kind} {part.part.name} reads the observer {name!r}, which is not"
                        " there; name it under observers"
                    )
        for probe in self.probes:
            for does, steps in (("looks", probe.network_stride), ("is kept", probe.reset_stride)):
                if steps % self.segment:
                    raise OrlaError(
                        f"probe {probe.part.name} {does} every {steps} steps, which is done between"
                        f" segments of {self.segment}; give it a multiple of that"
                    )

    @functools.cached_property
    def driver(self) -> Steps | Windows:
        """`Windows` where a learner loops over steps, `Steps` otherwise."""
        loops = any(learner.loops for learner in self.learners.values())
        return Windows(self, self.passes) if loops else Steps(self, self.segment)

    def start(
        self,
        params: Parameters,
        *,
        seeds: Sequence[int] | None = None,
        optimizer: dict[str, Tensor] | None = None,
    ) -> State:
        """The state before the first step, from `params` (models, ...), which stay as they are.

        seeds: Names of the models' random numbers; 0, 1, ... by default.
        optimizer: State of the optimizer; a fresh one by default.
        """
        with torch.no_grad():
            params = _clone_tree(column_major(params))
            models = len(next(iter(params.values())))
            network = vmap(self.learner.architecture.initial_state)(params)
            if optimizer is None:
                optimizer = vmap(self.optimizer.init)(params)
            seeds = tuple(range(models) if seeds is None else seeds)
            buffers = {n: _clone_tree(x.buffers(params)) for n, x in self.learners.items()}
            for name, learner in self.learners.items():
                if learner.fixed_noise_size:
                    drawn = fixed_noise(seeds, learner.fixed_noise_size, network)
                    buffers[name]["fixed_noise"] = drawn
            return State(
                params=params,
                network=network.clone(),
                learners={n: _clone_tree(x.init(params)) for n, x in self.learners.items()},
                optimizer=_clone_tree(optimizer),
                interventions=[_clone_tree(vmap(i.init)(params)) for i in self.interventions],
                probes=[_clone_tree(vmap(p.init)(params)) for p in self.probes],
                buffers=buffers,
                seeds=seeds,
            )

    def run(
        self,
        state: State,
        rates: Tensor,
        stream: StreamTensors,
        *,
        snapshots: Sequence[int] = (),
        on_segment: Callable[[int], None] | None = None,
    ) -> Adaptation:
        """Go through `stream` from `state`, which is changed in place.

        rates: Learning rates (models,).
        stream: The next steps of the stream, in the precision of the parameters. Steps that do not
            fill a last update are passed over.
        snapshots: Steps of the stream after which parameters and network state are kept, multiples
            of `segment`; others are an OrlaError, as are too few steps for one update.
        on_segment: Called with the number of steps done since the last call.
        """
        length = len(stream["x"])
        steps = length - length % self.learner.stride
        first, updates = state.step, steps // self.learner.stride
        self._check_length_and_snapshots(first, steps, snapshots)
        with torch.no_grad(), cost.work_phase("learners", steps * len(state.network)):
            stream = {name: m[:steps].contiguous() for name, m in stream.items()}
            results, networks, position = [], {}, 0
            sparse: defaultdict[str, list[Tensor]] = defaultdict(list)
            while position < steps:
                stop = min(steps, position + self.segment - (first + position) % self.segment)
                part = {name: m[position:stop] for name, m in stream.items()}
                seen = self.measure_networks(state, part)
                part = self.with_noise(part, state)
                results += self.driver.advance(state, rates, part, updates)
                for name, value in (seen | self._pop_due_probe_states(state)).items():
                    sparse[name].append(value)
                if state.step in snapshots:
                    networks[state.step] = (_clone_tree(state.params), state.network.clone())
                if on_segment:
                    on_segment(stop - position)
                position = stop
        errors, series = zip(*results, strict=True)
        by_name = {k: torch.cat([s[k] for s in series]).transpose(0, 1) for k in series[0]}
        by_name |= {name: torch.stack(values, 1) for name, values in sparse.items()}
        values = self._zero_length_series(state) | {k: v.cpu().numpy() for k, v in by_name.items()}
        return Adaptation(torch.cat(errors).T.cpu().numpy(), state, values, networks)

    def _check_length_and_snapshots(self, first: int, steps: int, snapshots: Sequence[int]) -> None:
        """Refuse (OrlaError) a run without an update, or snapshots that it cannot take."""
        if steps == 0:
            raise OrlaError(f"the stream is shorter than one update ({self.learner.stride} steps)")
        for step in snapshots:
            if step % self.segment or not first < step <= first + steps:
                raise OrlaError(
                    f"no snapshot can be taken after {step} of {first + steps} steps;"
                    f" choose a multiple of {self.segment}"
                )

    def _zero_length_series(self, state: State) -> dict[str, np.ndarray]:
        """Series (models, 0, ...) of looks and states kept: those of a run that is too short."""
        models, none = len(state.network), {}
        for probe, state_of_probe in zip(self.probes, state.probes, strict=True):
            if probe.network_stride:
                none |= {name: np.empty((models, 0)) for name in probe.part.more["columns"]}
            if probe.reset_stride:
                none |= {n: np.empty((models, 0, *v.shape[1:])) for n, v in state_of_probe.items()}
        return none

    def _pop_due_probe_states(self, state: State) -> dict[str, Tensor]:
        """The states of the probes whose states are kept after this step, and begin anew."""
        states: dict[str, Tensor] = {}
        for i, probe in enumerate(self.probes):
            if probe.reset_stride and state.step % probe.reset_stride == 0:
                states |= _clone_tree(state.probes[i])
                state.probes[i] = _clone_tree(vmap(probe.init)(state.params))
        return states


def loop_of(
    job: Mapping[str, Any], n_in: int, n_out: int, loss: Loss, segment: int | None = None
) -> Loop:
    """The loop of a job; `segment` is by default one update.

    job: "network", "learner" and "optimizer" as short forms or as mappings of ``kind`` and options;
        where there are any, lists "interventions" and "probes" of such ones and "observers", {name:
        such a one}. An OrlaError says what of them is unknown or does not fit.
    """
    network = network_of(job["network"], n_in, n_out)
    learner_of = functools.partial(catalogue.make, "learner", architecture=network)
    learner = learner_of(job["learner"])
    return Loop(
        learner,
        catalogue.make("optimizer", job["optimizer"]),
        loss,
        {name: learner_of(spec) for name, spec in job.get("observers", {}).items()},
        *(
            [catalogue.make(kind, spec) for spec in job.get(f"{kind}s", [])]
            for kind in ("intervention", "probe")
        ),
        segment=segment or learner.stride,
    )


def _clone_tree(tree: Any) -> Any:
    """The same tensors, each in memory of its own: they are changed in place.

    An axis of one model has the stride of what it was cut from; a compiled loop asks for the usual.
    """

    def copy(tensor: Tensor) -> Tensor:
        usual = torch.contiguous_format if tensor.is_contiguous() else torch.preserve_format
        return tensor.clone(memory_format=usual)

    return pytree.tree_map(copy, tree)
