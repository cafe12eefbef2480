"""One update: a step forward, gradients, interventions, the optimizer, and probes."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.derivatives.base import axis_of_models
from orla.engine.state import State, step_noise
from orla.interventions.base import Gradients, Intervention
from orla.learners.base import Carry, Learner
from orla.losses.base import Loss
from orla.optimizers.base import Optimizer
from orla.probes.base import Probe, Update
from orla.programs.scan import match_layout_in_program

# Steps of a stream: "x" (steps, n_in) and "y" (steps, ...), shared by the models, or
# (steps, models, ...); and where the stream has them "scored" and "starts", bool.
StreamTensors = dict[str, Tensor]

# Prefix of the entries that hold random numbers; how many each model gets follows it.
_NOISE = "noise"


@dataclass(frozen=True)
class Parts:
    """What computes an update; the models are the first axis of every tensor.

    learner: Its gradient changes the networks.
    observers: Learners by name that compute gradients on the same trajectory without changing it.
        An observer has the learner's stride, or 1: then its gradients of a window are summed.
    interventions: Changes to the gradient, in order.
    """

    learner: Learner
    optimizer: Optimizer
    loss: Loss
    observers: Mapping[str, Learner] = field(default_factory=dict)
    interventions: Sequence[Intervention] = ()
    probes: Sequence[Probe] = ()

    @cached_property
    def learners(self) -> dict[str, Learner]:
        """The learner, "own", and each observer, "of NAME"."""
        return {"own": self.learner, **{f"of {n}": o for n, o in self.observers.items()}}

    @property
    def extra_key_parts(self) -> list[Any]:
        """Observers, interventions and probes, each a list: parts of a program's key."""
        return [list(self.observers.items()), list(self.interventions), list(self.probes)]

    def forward(
        self, params: Parameters, network: Tensor, stream_step: StreamTensors
    ) -> tuple[Tensor, dict[str, Any], Tensor, Parameters]:
        """One step forward: the next network state, `learners.base.Step`, error and readout."""
        d = self.learner.derivatives
        previous = d.state_before(params, network, stream_step)
        next_state, tape = d.forward(params, network, stream_step)
        error, outputs_cotangent, cotangent, readout = d.readout_cotangents(
            self.loss, params, next_state, stream_step
        )
        step = {"stream": without_noise(stream_step), "before": previous, "tape": tape}
        step["cotangent"] = cotangent
        if any(learner.reads_outputs for learner in self.learners.values()):
            step["outputs_cotangent"] = outputs_cotangent
        return next_state, step, error, readout

    def gradient_of(
        self,
        name: str,
        carry: Carry,
        buffers: dict[str, Any],
        params: Parameters,
        step: dict[str, Any],
        stream: StreamTensors,
    ) -> tuple[Carry, Parameters]:
        """The next carry and gradient of a learner; `stream` holds the random numbers of `step`."""
        learner = self.learners[name]
        if learner.noise_size:
            step = step | {"noise": stream[f"{_NOISE}-{learner.noise_size}"]}
        next_carry, gradient = learner.gradient(carry | buffers, params, step)
        return {key: next_carry[key] for key in carry}, gradient

    def match_layout(self, gradient: Parameters, params: Parameters) -> Parameters:
        """The gradient, in the memory layout of the parameters where that is faster.

        Outer products are left to the compiler where an update depends on each number alone: it
        fuses them into the update. Elsewhere the gradient is laid out as the parameters.
        """
        learner, elementwise = self.learner, self.optimizer.elementwise
        apart = learner.loops or learner.block_length or self.observers or self.interventions
        if learner.derivatives.outer_products and elementwise and not apart:
            return gradient
        return {name: match_layout_in_program(g, params[name]) for name, g in gradient.items()}

    def update(
        self,
        variables: dict[str, Any],
        gradients: dict[str, Parameters],
        rates: Tensor,
        network: Tensor,
        stream: StreamTensors,
        error: Tensor,
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What one update changes of `variables`, and the probes' measurements.

        network: The networks' states after the step or window.
        error: (models,), of a window (steps, models).
        """
        params, gradient = variables["params"], gradients["own"]
        observers = {name: gradients[f"of {name}"] for name in self.observers}
        interventions, probes, series = [], [], {}
        for part, state in zip(self.interventions, variables["interventions"], strict=True):
            gradient, next_state = vmap(part.update)(Gradients(gradient, observers), state, params)
            interventions.append(next_state)
        arguments = gradient, variables["optimizer"], params, rates
        updates, optimizer = vmap(self.optimizer.update)(*arguments)
        stream, architecture = without_noise(stream), self.learner.architecture
        recurrent = architecture.recurrent_params(params)
        reads = any(probe.reads_outputs for probe in self.probes)
        outputs = vmap(architecture.readout)(params, network) if reads else None
        per_model = params, gradient, observers, gradients["own"], updates, network
        update = Update(*per_model, stream, error, recurrent, outputs)
        # Axes of a window: steps, then models where each has its own stream.
        window = error.dim() - 1
        axes_of_stream = dict.fromkeys(stream, window if stream["x"].dim() == 2 + window else None)
        axes = Update(0, 0, 0, 0, 0, 0, axes_of_stream, window, 0, 0 if reads else None)
        for part, state in zip(self.probes, variables["probes"], strict=True):
            next_state, values = vmap(part.measure, in_dims=(0, axes))(state, update)
            probes.append(next_state)
            series |= values
        return {
            "params": params | {name: params[name] + u for name, u in updates.items()},
            "optimizer": optimizer,
            "interventions": interventions,
            "probes": probes,
        }, series

    def measure_networks(self, state: State, stream: StreamTensors) -> dict[str, Tensor]:
        """What probes see of the network before the first of these steps; {} where none looks."""
        learner, values = self.learner, {}
        for probe in self.probes:
            if not probe.network_stride or not state.step or state.step % probe.network_stride:
                continue
            first = {name: m[0] for name, m in stream.items()}
            previous = learner.derivatives.state_before(state.params, state.network, first)
            carry = state.learners["own"] | state.buffers["own"]
            sensitivity = learner.sensitivity(carry, state.params)
            if "starts" in first:  # a trial has no past
                keep = (~first["starts"]).expand(len(previous)).to(previous.dtype)
                sensitivity = {
                    n: torch.einsum("m,m...->m...", keep, p) for n, p in sensitivity.items()
                }
            look = functools.partial(probe.measure_network, learner.architecture)
            axes = (0, 0, axis_of_models(first), 0)
            arguments = state.params, previous, first["x"], sensitivity
            # One model after the other, because a look may be large.
            values |= vmap(look, in_dims=axes, chunk_size=1)(*arguments)
        return values

    def rebuild_full_buffers(self, state: State) -> None:
        """Let learners whose block of steps is full rebuild their buffers."""
        for name, learner in self.learners.items():
            if learner.block_length and state.step % learner.block_length == 0:
                learner.rebuild_buffers(state.learners[name], state.buffers[name])

    def with_noise(self, stream: StreamTensors, state: State) -> StreamTensors:
        """The next steps, with the random numbers that the learners need."""
        draws = {
            f"{_NOISE}-{size}": step_noise(
                state.seeds, state.step, len(stream["x"]), size, state.network
            )
            for learner in self.learners.values()
            if (size := learner.noise_size)
        }
        return stream | draws


def without_noise(stream: StreamTensors) -> StreamTensors:
    """The entries without the learners' random numbers."""
    return {name: m for name, m in stream.items() if not name.startswith(_NOISE)}


def pad(stream: StreamTensors, length: int) -> StreamTensors:
    """The steps, and zeros up to `length` of them, so that one program serves fewer steps too."""
    count = length - len(stream["x"])
    if not count:
        return stream
    return {n: torch.cat([m, m.new_zeros(count, *m.shape[1:])]) for n, m in stream.items()}
