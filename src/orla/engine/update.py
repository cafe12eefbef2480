"""One update: a step forward, gradients, interventions, the optimizer, and probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.engine import optimizing
from orla.engine.state import State
from orla.errors import OrlaError
from orla.interventions.base import Gradients, Intervention
from orla.learners.base import Learner
from orla.losses.base import Loss
from orla.optimizers.base import Optimizer
from orla.probes.base import Probe, Update
from orla.programs.scan import in_layout_of

# Steps of a stream: "x" (steps, n_in) and "y" (steps, ...), shared by the models, or
# (steps, models, ...); and where the stream has them "scored" and "starts", bool.
Moments = dict[str, Tensor]

# Prefix of the entries of a moment that hold random numbers.
NOISE = "noise"


def noise_of(learner: Learner) -> str:
    """The entry of a moment with a learner's random numbers, named by their number."""
    return f"{NOISE}-{learner.noise}"


def with_noise(step: dict[str, Any], moment: Moments, learner: Learner) -> dict[str, Any]:
    """The step, with the random numbers of this learner."""
    return step | {"noise": moment[noise_of(learner)]} if learner.noise else step


@dataclass(frozen=True)
class Updating:
    """The parts of a loop, and one update with them.

    learner: Its gradient changes the networks.
    observers: Learners by name that compute gradients on the same trajectory without changing it.
        An observer has the learner's stride, or 1: then its gradients of a window are summed.
    interventions: Changes to the gradient, in order.
    segment: Steps that are processed in one piece, a multiple of the learner's stride.
    passes: Runs that are planned with this loop, about; many are worth more compilation.
    """

    learner: Learner
    optimizer: Optimizer
    loss: Loss
    observers: Mapping[str, Learner] = field(default_factory=dict)
    interventions: Sequence[Intervention] = ()
    probes: Sequence[Probe] = ()
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
            for does, steps in (("looks", probe.look_stride), ("is kept", probe.kept_every)):
                if steps % self.segment:
                    raise OrlaError(
                        f"probe {probe.part.name} {does} every {steps} steps, which is done between"
                        f" segments of {self.segment}; give it a multiple of that"
                    )

    def _room(self, state: State) -> int:
        """Steps until the next end of a learner's block, at most a segment."""
        ends = [
            learner.block_length - state.step % learner.block_length
            for learner in self.learners.values()
            if learner.block_length
        ]
        return min([self.segment, *ends])

    def _end_blocks(self, state: State) -> None:
        for name, learner in self.learners.items():
            if learner.block_length and state.step % learner.block_length == 0:
                learner.end_block(state.learners[name].memory)

    @property
    def apart(self) -> bool:
        """Whether a learner loops over steps: then gradient and update are compiled apart."""
        return any(learner.loops for learner in self.learners.values())

    @cached_property
    def learners(self) -> dict[str, Learner]:
        """The learner, "own", and each observer, "of NAME"."""
        return {"own": self.learner, **{f"of {n}": o for n, o in self.observers.items()}}

    def _forward(
        self, params: Parameters, network: Tensor, moment: Moments
    ) -> tuple[Tensor, dict[str, Any], Tensor, Parameters]:
        """One step forward: the next network state, `learners.base.Step`, error and readout."""
        d = self.learner.derivatives
        before = d.before(params, network, moment)
        after, tape = d.forward(params, network, moment)
        error, on_outputs, pull = d.outputs(self.loss, params, after, moment)
        cotangent, readout = pull(on_outputs)
        seen = {name: m for name, m in moment.items() if not name.startswith(NOISE)}
        step = {"moment": seen, "before": before, "tape": tape, "cotangent": cotangent}
        if any(learner.reads_outputs for learner in self.learners.values()):
            step["on_outputs"] = on_outputs
        return after, step, error, readout

    def _laid_out(self, gradient: Parameters, params: Parameters) -> Parameters:
        """The gradient, in the memory layout of the parameters where that is faster.

        Outer products are left to the compiler where an update depends on each number alone: it
        fuses them into the update. Elsewhere the gradient is laid out as the parameters.
        """
        plain = not (self.observers or self.interventions)
        apart = self.learner.loops or self.learner.block_length
        outer = self.learner.derivatives.outer_products
        if outer and self.optimizer.elementwise and plain and not apart:
            return gradient
        return {name: in_layout_of(g, params[name]) for name, g in gradient.items()}

    def _apply(
        self,
        params: Parameters,
        gradients: dict[str, Parameters],
        optimizer: dict[str, Tensor],
        carry: dict[str, Any],
        rates: Tensor,
        network: Tensor,
        moment: Moments,
        error: Tensor,
    ) -> tuple[Any, ...]:
        """Updates; next states of optimizer, interventions and probes; the measurements."""
        learned = own = gradients["own"]
        observers = {name: gradients[f"of {name}"] for name in self.observers}
        interventions = []
        for part, state in zip(self.interventions, carry["interventions"], strict=True):
            own, after = vmap(part.update)(Gradients(own, observers), state, params)
            interventions.append(after)
        updates, optimizer = optimizing.updated(self.optimizer, own, optimizer, params, rates)
        moment = {name: m for name, m in moment.items() if not name.startswith(NOISE)}
        recurrent = {name: params[name] for name in self.learner.derivatives.recurrent()}
        update = Update(params, own, observers, learned, updates, network, moment, error, recurrent)
        of_steps = self._moment_axes(moment, error), error.dim() - 1
        axes = Update(0, 0, 0, 0, 0, 0, *of_steps, recurrent=0)
        probes, watched = [], {}
        for part, state in zip(self.probes, carry["probes"], strict=True):
            after, values = vmap(part.measure, in_dims=(0, axes))(state, update)
            probes.append(after)
            watched |= values
        return updates, optimizer, interventions, probes, watched

    def _moment_axes(self, moment: Moments, error: Tensor) -> dict[str, int | None]:
        # Axes of a window: steps, then models where each has its own stream.
        window = error.dim() - 1
        own = moment["x"].dim() == 2 + window
        return {name: window if own else None for name in moment}

    @property
    def _made_of(self) -> list[Any]:
        watching = [list(self.observers.items()), list(self.interventions), list(self.probes)]
        return [self.learner, self.optimizer, self.loss, *watching]


def padded(moments: Moments, length: int) -> Moments:
    """The steps, and zeros up to `length` of them, so that one program serves fewer steps too."""
    missing = length - len(moments["x"])
    if not missing:
        return moments
    return {n: torch.cat([m, m.new_zeros(missing, *m.shape[1:])]) for n, m in moments.items()}
