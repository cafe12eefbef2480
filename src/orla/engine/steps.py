"""Learners that update at each step: step and update compile together, in one loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.engine.state import State
from orla.engine.update import Moments, Updating, padded, with_noise
from orla.programs.compiling import Compiled
from orla.programs.scan import scan_in_place


@dataclass(frozen=True)
class StepLoop(Updating):
    """The loop with one update a step."""

    def _advance_by_steps(
        self, state: State, rates: Tensor, moments: Moments
    ) -> tuple[Tensor, dict[str, Tensor]]:
        steps = len(moments["x"])
        moments = padded(moments, self.segment)
        errors, series, at = [], [], 0
        while at < steps:
            stop = min(steps, at + self._room(state))
            ends = torch.tensor(at), torch.tensor(stop)
            carry, error, watched = self._compiled_run(*self._split(state), rates, moments, *ends)
            self._take(state, carry)
            state.step += stop - at
            self._end_blocks(state)
            errors.append(error[at:stop])
            series.append({name: values[at:stop] for name, values in watched.items()})
            at = stop
        return torch.cat(errors), {k: torch.cat([s[k] for s in series]) for k in series[0]}

    def _split(self, state: State) -> tuple[Any, Any, Any]:
        """What a step returns anew, what it changes in place, and what it only reads."""
        learners = state.learners.items()
        carry = {
            "network": state.network,
            "learners": {name: c.carry for name, c in learners},
            "interventions": list(state.interventions),
            "probes": list(state.probes),
        }
        changed = {
            "params": state.params,
            "optimizer": state.optimizer,
            "learners": {name: c.memory.changed for name, c in learners},
        }
        return carry, changed, {name: c.memory.read for name, c in learners}

    def _take(self, state: State, carry: dict[str, Any]) -> None:
        state.network = carry["network"]
        for name, carried in state.learners.items():
            carried.carry = carry["learners"][name]
        state.interventions, state.probes = carry["interventions"], carry["probes"]

    def run_steps(
        self,
        carry: dict[str, Any],
        changed: dict[str, Any],
        read: dict[str, Any],
        rates: Tensor,
        moments: Moments,
        start: Tensor,
        stop: Tensor,
    ) -> tuple[Any, Tensor, dict[str, Tensor]]:
        """Adapt to the steps `start` to `stop` of `moments`, one update a step.

        Args:
            carry, changed, read: From `_split`; `changed` is changed in place.
            rates: Learning rates (models,).
            moments: Steps on the first axis.

        Returns:
            The next carry, errors (steps, models) and the probes' series.
        """

        def body(
            carry: Any, moment: Moments, read: Any, rates: Tensor, changed: Any
        ) -> tuple[Any, Any]:
            params = changed["params"]
            held = {
                name: (c | changed["learners"][name] | read[name])
                for name, c in carry["learners"].items()
            }
            network, step, error, readout = self._forward(params, carry["network"], moment)
            learners, gradients = {}, {}
            for name, learner in self.learners.items():
                own = with_noise(step, moment, learner)
                learners[name], gradient = learner.gradient(held[name], params, own)
                gradients[name] = self._laid_out(gradient | readout, params)
            update = self._apply(
                params, gradients, changed["optimizer"], carry, rates, network, moment, error
            )
            updates, optimizer, interventions, probes, watched = update
            # Copied, because a probe may return a tensor that is changed below.
            watched = pytree.tree_map(torch.clone, watched)
            # In place: new tensors would double the memory that the loop reads and writes.
            for name, u in updates.items():
                params[name].copy_(params[name] + u)
            for name, value in optimizer.items():
                changed["optimizer"][name].copy_(value)
            after = {
                "network": network,
                "learners": learners,
                "interventions": interventions,
                "probes": probes,
            }
            return after, (error, watched)

        carry, (errors, series) = scan_in_place(
            body, carry, moments, changed, constants=(read, rates), start=start, stop=stop
        )
        return carry, errors, series

    @cached_property
    def _compiled_run(self) -> Compiled:
        name = f"{type(self.learner).__name__} + {type(self.optimizer).__name__}"
        return Compiled(self.run_steps, name, self._made_of)
