"""Learners that update at each step: step and update compile together, in one loop."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from orla.engine.state import State
from orla.engine.update import Parts, StreamTensors, pad
from orla.programs.compiling import Compiled
from orla.programs.scan import scan_in_place


@dataclass(frozen=True)
class Steps:
    """One update a step, `segment` steps at a time."""

    parts: Parts
    segment: int

    def advance(
        self, state: State, rates: Tensor, stream: StreamTensors, planned_updates: int
    ) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """Errors (steps, models) and series of each stretch; `state` is changed in place."""
        steps, results, first = len(stream["x"]), [], 0
        stream = pad(stream, self.segment)
        blocks = [x.block_length for x in self.parts.learners.values() if x.block_length]
        while first < steps:
            # Up to the next end of a learner's block.
            stop = min([steps, *(first + length - state.step % length for length in blocks)])
            ends = torch.tensor(first), torch.tensor(stop)
            _, (error, values) = self.program(
                state.updated_tensors(), state.buffers, rates, stream, *ends
            )
            state.step += stop - first
            self.parts.rebuild_full_buffers(state)
            results.append((error[first:stop], {name: v[first:stop] for name, v in values.items()}))
            first = stop
        return results

    def run(
        self,
        variables: dict[str, Any],
        buffers: dict[str, Any],
        rates: Tensor,
        stream: StreamTensors,
        start: Tensor,
        stop: Tensor,
    ) -> tuple[Tensor, tuple[Tensor, dict[str, Tensor]]]:
        """Steps `start` to `stop`; `variables` (as of `State.updated_tensors`) change in place.

        Answers the position after the last step; errors (steps, models) and the probes' series.
        """
        parts = self.parts

        def step(variables: Any, stream_step: Any, buffers: Any, rates: Tensor) -> tuple[Any, Any]:
            params = variables["params"]
            network, record, error, readout = parts.forward(
                params, variables["network"], stream_step
            )
            learners, gradients = {}, {}
            for name, carry in variables["learners"].items():
                arguments = name, carry, buffers[name], params, record, stream_step
                learners[name], gradient = parts.gradient_of(*arguments)
                gradients[name] = parts.match_layout(gradient | readout, params)
            changes, series = parts.update(variables, gradients, rates, network, stream_step, error)
            return changes | {"network": network, "learners": learners}, (error, series)

        constants = buffers, rates
        return scan_in_place(step, variables, stream, constants=constants, start=start, stop=stop)

    @cached_property
    def program(self) -> Compiled:
        """`run`, compiled."""
        parts = self.parts
        name = f"{type(parts.learner).__name__} + {type(parts.optimizer).__name__}"
        key_parts = [parts.learner, parts.optimizer, parts.loss, parts.extra_key_parts]
        return Compiled(self.run, name, key_parts)
