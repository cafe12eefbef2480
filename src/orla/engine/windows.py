"""Learners that update once a window.

The gradient of a window and the update are compiled separately, so that the first serves all
optimizers and the second all learners.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.engine.state import State
from orla.engine.update import NOISE, Moments, Updating, with_noise
from orla.programs.compiling import Compiled
from orla.programs.scan import scan

# With fewer updates, compiling them takes longer than it saves.
_WORTH_COMPILING = 200


@dataclass(frozen=True)
class WindowLoop(Updating):
    """The loop with one update in `learner.stride` steps."""

    def _advance_by_updates(
        self, state: State, rates: Tensor, moments: Moments, updates: int
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Adapt to `moments`, which are part of a run of so many `updates`."""
        errors, series, stride = [], [], self.learner.stride
        often = updates * self.passes >= _WORTH_COMPILING
        apply = self._compiled_apply if often else self._apply
        for at in range(0, len(moments["x"]), stride):
            window = {name: m[at : at + stride] for name, m in moments.items()}
            carry, changed, read = self._split(state)
            after, network, gradients, error, steps = self._compiled_window(
                carry["learners"], changed["learners"], read, state.params, state.network, window
            )
            for name in self._stepwise:
                gradients[name] = self._watched(state, name, window, steps)
                after[name] = state.learners[name].carry
            self._take(state, carry | {"learners": after, "network": network})
            state.step += stride
            if not self._stepwise:
                self._end_blocks(state)
            updates, state.optimizer, state.interventions, state.probes, watched = apply(
                state.params, gradients, state.optimizer, carry, rates, network, window, error
            )
            state.params = state.params | {n: state.params[n] + u for n, u in updates.items()}
            errors.append(error)
            series.append(watched)
        return torch.cat(errors), {k: torch.stack([s[k] for s in series]) for k in series[0]}

    @property
    def _reads_before(self) -> bool:
        return any(learner.reads_before for learner in self.learners.values())

    @cached_property
    def _stepwise(self) -> list[str]:
        """Observers with stride 1 where the learner updates once a window."""
        return [name for name, x in self.learners.items() if x.stride < self.learner.stride]

    def window(
        self,
        carries: dict[str, Any],
        changed: dict[str, Any],
        read: dict[str, Any],
        params: Parameters,
        network: Tensor,
        moments: Moments,
    ) -> tuple[Any, ...]:
        """The gradients of one window (stride, ...) of steps.

        Returns:
            Next carries of the learners, the network's state, the gradients by learner, errors
            (stride, models), and for observers with stride 1 the steps and the readout's gradient.
        """

        def forward(network: Tensor, moment: Moments, params: Parameters) -> tuple[Tensor, Any]:
            after, step, error, readout = self._forward(params, network, moment)
            del step["moment"]
            if not self._reads_before:
                del step["before"]
            return after, (step, error, readout)

        network, (steps, error, readouts) = scan(forward, network, moments, constants=(params,))
        steps["moment"] = {n: m for n, m in moments.items() if not n.startswith(NOISE)}
        readout = {name: g.sum(0) for name, g in readouts.items()}
        last = {name: g[-1] for name, g in readouts.items()}
        after, gradients = {}, {}
        for name, learner in self.learners.items():
            if name in self._stepwise:
                continue
            step = with_noise(steps, moments, learner)
            if learner.stride == 1:
                step = pytree.tree_map(lambda t: t[0], step)
            held = carries[name] | changed[name] | read[name]
            after[name], gradient = learner.gradient(held, params, step)
            both = gradient | (last if learner.last_alone else readout)
            gradients[name] = self._laid_out(both, params)
        return after, network, gradients, error, (steps, readout) if self._stepwise else ()

    def _watched(self, state: State, name: str, moments: Moments, seen: Any) -> Parameters:
        """The summed gradients of an observer with stride 1 over a window."""
        observer, carried = self.learners[name], state.learners[name]
        steps, readout = seen
        steps = with_noise(steps, moments, observer)
        total: Parameters = {}
        for at in range(self.learner.stride):
            step = pytree.tree_map(lambda t, at=at: t[at], steps)
            held = carried.carry | carried.memory.changed | carried.memory.read
            carried.carry, gradient = observer.gradient(held, state.params, step)
            total = {n: g + total[n] if total else g for n, g in gradient.items()}
            if observer.block_length and (state.step + at + 1) % observer.block_length == 0:
                observer.end_block(carried.memory)
        return total | readout

    @cached_property
    def _compiled_window(self) -> Compiled:
        made_of = [self.learner, self.loss, list(self.observers.items())]
        return Compiled(self.window, f"{type(self.learner).__name__}, a window", made_of)

    @cached_property
    def _compiled_apply(self) -> Compiled:
        # Whose gradients they are is no part of it: one program serves all learners.
        names = list(self.observers)
        made_of = [self.optimizer, names, list(self.interventions), list(self.probes)]
        made_of.append(self.learner.derivatives.recurrent())
        return Compiled(self._apply, f"{type(self.optimizer).__name__}, an update", made_of)
