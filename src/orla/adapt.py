"""The loop: a stream, an architecture, a learner and an optimizer, over a batch of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures import Parameters, rows_along_memory
from orla.compiling import Compiled, scan
from orla.errors import OrlaError
from orla.learners import Learner
from orla.learners.base import Memory
from orla.optimizers import Optimizer

Probe = Callable[[Parameters, Parameters, Parameters], dict[str, Tensor]]


@dataclass(frozen=True)
class Adaptation:
    """What an adaptation leaves behind, models on the first axis.

    losses: (models, steps) mean over outputs of the squared error, before each step's update.
    params, state, optimizer_state: after the last step.
    series: what the probes measured, (models, updates, ...) each.
    snapshots: {step: (params, state)} after that many steps.
    """

    losses: np.ndarray
    params: Parameters
    state: Tensor
    optimizer_state: dict[str, Tensor]
    series: dict[str, np.ndarray]
    snapshots: dict[int, tuple[Parameters, Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapter:
    """Adapts batches of models; compiled once a shape.

    segment: steps that are gone through in one piece, a multiple of the learner's stride.
    """

    learner: Learner
    optimizer: Optimizer
    probes: Sequence[Probe] = ()
    segment: int = 200

    def __post_init__(self) -> None:
        if self.segment % self.learner.stride:
            raise OrlaError(
                f"a segment of {self.segment} steps does not hold a whole number of updates, one"
                f" every {self.learner.stride} steps; choose parts.cut as a multiple of that"
            )

    def __call__(
        self,
        params: Parameters,
        learning_rates: Tensor,
        X: Tensor,
        Y: Tensor,
        *,
        snapshots: Sequence[int] = (),
        state: Tensor | None = None,
        optimizer_state: dict[str, Tensor] | None = None,
        on_segment: Callable[[int], None] | None = None,
    ) -> Adaptation:
        """Adapt a batch of models to one stream.

        Args:
            params: Starting point, each (models, ...); left as it is.
            learning_rates: (models,).
            X, Y: Inputs (steps, n_in) and targets (steps, n_out), in the precision of `params`.
                Steps that do not fill a last update are passed over.
            snapshots: Steps after which parameters and state are kept, multiples of `segment`.
            state: Starting state (models, state_size); zeros by default.
            optimizer_state: Starting state of the optimizer; a fresh one by default.
            on_segment: Called with the number of steps done since the last call.

        Raises:
            OrlaError: Too few steps for one update; a snapshot is no multiple of `segment`.
        """
        steps = X.shape[0] - X.shape[0] % self.learner.stride
        self._check(steps, snapshots)
        with torch.no_grad():
            X, Y = X.contiguous(), Y.contiguous()
            now = self._start(params, state, optimizer_state)
            memory = self.learner.memory(now[1])
            losses, series, kept = [], [], {}
            for start in range(0, steps, self.segment):
                part = slice(start, min(start + self.segment, steps))
                now, loss, watched = self._advance(now, memory, learning_rates, X[part], Y[part])
                losses.append(loss)
                series.append(watched)
                if part.stop in snapshots:
                    kept[part.stop] = pytree.tree_map(torch.clone, (now[0], now[1]["state"]))
                if on_segment:
                    on_segment(part.stop - part.start)
        return Adaptation(
            losses=torch.cat(losses).T.cpu().numpy(),
            params=now[0],
            state=now[1]["state"],
            optimizer_state=now[2],
            series={
                k: torch.cat([s[k] for s in series]).transpose(0, 1).cpu().numpy()
                for k in series[0]
            },
            snapshots=kept,
        )

    def _start(
        self, params: Parameters, state: Tensor | None, optimizer_state: dict[str, Tensor] | None
    ) -> tuple[Parameters, dict[str, Any], dict[str, Tensor]]:
        # Each tensor in memory of its own: the compiled loop refuses two that share theirs.
        params = pytree.tree_map(torch.clone, rows_along_memory(params))
        carry = self.learner.init(params)
        if state is not None:
            carry = carry | {"state": state.clone()}
        if optimizer_state is None:
            optimizer_state = vmap(self.optimizer.init)(params)
        return params, carry, pytree.tree_map(torch.clone, optimizer_state)

    def _check(self, steps: int, snapshots: Sequence[int]) -> None:
        if steps == 0:
            raise OrlaError(f"the stream is shorter than one update ({self.learner.stride} steps)")
        for step in snapshots:
            if step % self.segment or not 0 < step <= steps:
                raise OrlaError(
                    f"no snapshot can be taken after {step} of {steps} steps;"
                    f" choose a multiple of {self.segment}"
                )

    def _advance(
        self, now: Any, memory: Memory | None, rates: Tensor, X: Tensor, Y: Tensor
    ) -> tuple[Any, Tensor, dict[str, Tensor]]:
        stride = self.learner.stride
        if memory is None:
            advance = self._compiled_run if self.segment > stride else self._advance_once
            return advance(now, rates, X, Y)
        losses, series = [], []
        program = self._compiled_run.program(now, rates, X[:stride], Y[:stride])
        for x, y in zip(X.split(stride), Y.split(stride), strict=True):
            (params, carry, state), loss, watched = program(now, rates, x, y)
            now = (params, memory.remember(carry), state)
            losses.append(loss)
            series.append(watched)
        return now, torch.cat(losses), {k: torch.cat([s[k] for s in series]) for k in series[0]}

    def _advance_once(
        self, now: Any, rates: Tensor, X: Tensor, Y: Tensor
    ) -> tuple[Any, Tensor, dict[str, Tensor]]:
        # A single update takes no loop around it: a gradient that is compiled by itself serves all
        # optimizers, and an update all learners.
        params, carry, optimizer_state = now
        carry, gradients, losses = self._compiled_step(carry, params, X, Y)
        params, optimizer_state, watched = self._compiled_apply(
            params, gradients, optimizer_state, rates
        )
        return (params, carry, optimizer_state), losses, {k: w[None] for k, w in watched.items()}

    @cached_property
    def _compiled_run(self) -> Compiled:
        made_of = [self.learner, self.optimizer, *self.probes]
        name = f"{_name(self.learner)} + {_name(self.optimizer)}"
        return Compiled(self.run, name, made_of, in_place=self.learner.in_place)

    @cached_property
    def _compiled_step(self) -> Compiled:
        name = f"{_name(self.learner)}, a window"
        return Compiled(self.learner.step, name, [self.learner], in_place=self.learner.in_place)

    @cached_property
    def _compiled_apply(self) -> Compiled:
        made_of = [self.optimizer, *self.probes]
        return Compiled(self._apply, f"{_name(self.optimizer)}, an update", made_of)

    def run(
        self, now: Any, rates: Tensor, X: Tensor, Y: Tensor
    ) -> tuple[Any, Tensor, dict[str, Tensor]]:
        """Pure but for what the learner's memory holds: go through X (steps, n_in), Y.

        Gives what is carried, losses (steps, models) and the probes' series.
        """
        stride = self.learner.stride
        inputs = (part.view(-1, stride, part.shape[1]) for part in (X, Y))

        def body(now: Any, xy: tuple[Tensor, Tensor]) -> tuple[Any, Any]:
            now, losses, watched = self._update(now, rates, *xy)
            return now, (losses, watched)

        now, (losses, series) = scan(body, now, tuple(inputs))
        return now, losses.flatten(0, 1), series

    def _update(self, now: Any, rates: Tensor, x: Tensor, y: Tensor) -> tuple[Any, Tensor, dict]:
        params, carry, optimizer_state = now
        carry, gradients, loss = self.learner.step(carry, params, x, y)
        params, optimizer_state, watched = self._apply(params, gradients, optimizer_state, rates)
        return (params, carry, optimizer_state), loss, watched

    def _apply(
        self, params: Parameters, gradients: Parameters, optimizer_state: Any, rates: Tensor
    ) -> tuple[Parameters, dict[str, Tensor], dict[str, Tensor]]:
        updates, optimizer_state = vmap(self.optimizer.update)(
            gradients, optimizer_state, params, rates
        )
        watched: dict[str, Tensor] = {}
        for probe in self.probes:
            watched |= probe(params, gradients, updates)
        params = params | {name: params[name] + update for name, update in updates.items()}
        return params, optimizer_state, watched


def _name(thing: object) -> str:
    return type(thing).__name__
