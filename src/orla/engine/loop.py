"""The loop: a stream, an architecture, a learner and an optimizer, over a batch of models."""

from __future__ import annotations

import math
import sys
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
from orla.errors import OrlaError
from orla.learners import Learner
from orla.learners.base import Memory
from orla.optimizers import Optimizer
from orla.programs.compiling import Compiled
from orla.programs.scan import in_layout_of, readable, scan_in_place

# Steps between two updates from which on updates are made uncompiled.
_SELDOM = 50

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


@dataclass
class _Now:
    """Where an adaptation stands. longest: Steps that are gone through at once, at most."""

    params: Parameters
    carry: dict[str, Any]
    optimizer_state: dict[str, Tensor]
    memory: Memory
    longest: int


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
            losses, series, kept = [], [], {}
            for start in range(0, steps, self.segment):
                part = slice(start, min(start + self.segment, steps))
                loss, watched = self._advance(now, learning_rates, X[part], Y[part])
                losses.append(loss)
                series.append(watched)
                if part.stop in snapshots:
                    kept[part.stop] = pytree.tree_map(torch.clone, (now.params, now.carry["state"]))
                if on_segment:
                    on_segment(part.stop - part.start)
        return Adaptation(
            losses=torch.cat(losses).T.cpu().numpy(),
            params=now.params,
            state=now.carry["state"],
            optimizer_state=now.optimizer_state,
            series={
                k: torch.cat([s[k] for s in series]).transpose(0, 1).cpu().numpy()
                for k in series[0]
            },
            snapshots=kept,
        )

    def _start(
        self, params: Parameters, state: Tensor | None, optimizer_state: dict[str, Tensor] | None
    ) -> _Now:
        # Each tensor in memory of its own: they are changed in place.
        params = pytree.tree_map(torch.clone, rows_along_memory(params))
        carry = self.learner.init(params)
        if state is not None:
            carry = carry | {"state": state.clone()}
        if optimizer_state is None:
            optimizer_state = vmap(self.optimizer.init)(params)
        optimizer_state = pytree.tree_map(torch.clone, optimizer_state)
        memory = self.learner.memory(params)
        longest = self.segment
        if memory.room < sys.maxsize and not readable(carry["state"]):
            # A graph is recorded for each number of steps: of this divisor nearly all are made up.
            longest = math.gcd(self.segment, memory.room)
        return _Now(params, carry, optimizer_state, memory, longest)

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
        self, now: _Now, rates: Tensor, X: Tensor, Y: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        if self.learner.loops:
            return self._advance_by_updates(now, rates, X, Y)
        losses, series, at, steps = [], [], 0, len(X)
        memory = now.memory
        if self.learner.has_memory and readable(X):
            # One program serves every stretch, those of a last and shorter segment among them.
            X, Y = (torch.nn.functional.pad(t, (0, 0, 0, self.segment - steps)) for t in (X, Y))
        changed = {"params": now.params, "optimizer": now.optimizer_state, "carry": memory.changed}
        while at < steps:
            stop = min(steps, at + memory.room, at + now.longest)
            *stretch, start, end = self._stretch(X, Y, at, stop)
            now.carry, loss, watched = self._compiled_run(
                now.carry, changed, memory.read, rates, *stretch, start, end
            )
            now.carry = memory.remember(now.carry, stop - at)
            losses.append(loss[start:end])
            series.append({name: values[start:end] for name, values in watched.items()})
            at = stop
        return torch.cat(losses), {k: torch.cat([s[k] for s in series]) for k in series[0]}

    def _stretch(self, X: Tensor, Y: Tensor, at: int, stop: int) -> tuple[Tensor, ...]:
        """A segment as `run` takes it to go from step `at` up to `stop`."""
        if not readable(X):
            # A recorded graph keeps the positions that it was recorded with: here 0 and the length,
            # which its shape tells.
            return X[at:stop], Y[at:stop], torch.tensor(0), torch.tensor(stop - at)
        return X, Y, torch.tensor(at), torch.tensor(stop)

    def _advance_by_updates(
        self, now: _Now, rates: Tensor, X: Tensor, Y: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        # A gradient that is compiled by itself serves all optimizers, and an update all learners.
        # One update in many steps takes less uncompiled than to be compiled.
        losses, series, stride = [], [], self.learner.stride
        apply = self._apply if stride >= _SELDOM else self._compiled_apply
        for x, y in zip(X.split(stride), Y.split(stride), strict=True):
            now.carry, gradients, loss = self._compiled_step(now.carry, now.params, x, y)
            now.params, now.optimizer_state, watched = apply(
                now.params, gradients, now.optimizer_state, rates
            )
            losses.append(loss)
            series.append(watched)
        return torch.cat(losses), {k: torch.stack([s[k] for s in series]) for k in series[0]}

    @cached_property
    def _compiled_run(self) -> Compiled:
        made_of = [self.learner, self.optimizer, *self.probes]
        name = f"{_name(self.learner)} + {_name(self.optimizer)}"
        return Compiled(self.run, name, made_of)

    @cached_property
    def _compiled_step(self) -> Compiled:
        name = f"{_name(self.learner)}, a window"
        return Compiled(self._gradient, name, [self.learner])

    @cached_property
    def _compiled_apply(self) -> Compiled:
        made_of = [self.optimizer, *self.probes]
        return Compiled(self._apply, f"{_name(self.optimizer)}, an update", made_of)

    def run(
        self,
        carry: dict[str, Any],
        changed: dict[str, Any],
        read: dict[str, Any],
        rates: Tensor,
        X: Tensor,
        Y: Tensor,
        start: Tensor,
        stop: Tensor,
    ) -> tuple[Any, Tensor, dict[str, Tensor]]:
        """Go through X (steps, n_in), Y from step `start` up to `stop`, an update a step.

        Args:
            carry: What the learner carries.
            changed: "params", "optimizer" and the learner's own "carry", changed in place.
            read: What else the learner finds in its carry.

        Returns:
            The next carry, losses (steps, models) and the probes' series.
        """

        def body(
            carry: Any, xy: tuple[Tensor, Tensor], read: Any, rates: Tensor, changed: Any
        ) -> tuple[Any, Any]:
            params, state = changed["params"], changed["optimizer"]
            held = carry | changed["carry"] | read
            x, y = (part[None] for part in xy)
            carry, gradients, loss = self._gradient(held, params, x, y)
            after, state_after, watched = self._apply(params, gradients, state, rates)
            # A probe may answer with what is about to be changed.
            watched = pytree.tree_map(torch.clone, watched)
            # In place: the loop would otherwise go through twice the memory.
            for now, new in ((params, after), (state, state_after)):
                for name, value in new.items():
                    now[name].copy_(value)
            return carry, (loss[0], watched)

        carry, (losses, series) = scan_in_place(
            body, carry, (X, Y), changed, constants=(read, rates), start=start, stop=stop
        )
        return carry, losses, series

    def _gradient(
        self, carry: dict[str, Any], params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[dict[str, Any], Parameters, Tensor]:
        carry, gradients, loss = self.learner.step(carry, params, X, Y)
        if not self._in_passing:
            gradients = {name: in_layout_of(g, params[name]) for name, g in gradients.items()}
        return carry, gradients, loss

    @property
    def _in_passing(self) -> bool:
        """Whether a gradient is worked out where it is used instead of being written down."""
        written = self.learner.loops or self.learner.has_memory
        return self.optimizer.elementwise and not written

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
