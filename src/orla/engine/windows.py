"""Learners that update once a window: its gradient and the update are compiled separately."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.engine.state import State
from orla.engine.update import Parts, StreamTensors, without_noise
from orla.programs.compiling import Compiled
from orla.programs.scan import overwrite, scan

# With fewer updates, compiling them takes longer than it saves.
_WORTH_COMPILING = 200


@dataclass(frozen=True)
class Windows:
    """One update in `learner.stride` steps; so many `passes` over a stream are planned."""

    parts: Parts
    passes: int

    def advance(
        self, state: State, rates: Tensor, stream: StreamTensors, planned_updates: int
    ) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """Errors (steps, models) and series of each window; `state` is changed in place."""
        parts, results = self.parts, []
        often = planned_updates * self.passes >= _WORTH_COMPILING
        update = self.update_program if often else parts.update
        for first in range(0, len(stream["x"]), stride := parts.learner.stride):
            window = {name: m[first : first + stride] for name, m in stream.items()}
            variables = state.updated_tensors()
            learners, network = variables.pop("learners"), variables.pop("network")
            state.network, gradients, error, steps = self.program(
                learners, state.buffers, state.params, network, window
            )
            for name in self._stepwise_observers:
                gradients[name] = self._gradient_sum(state, name, window, steps)
            state.step += stride
            if not self._stepwise_observers:
                parts.rebuild_full_buffers(state)
            changes, values = update(variables, gradients, rates, state.network, window, error)
            vars(state).update(changes)
            results.append((error, {name: v[None] for name, v in values.items()}))
        return results

    @cached_property
    def _stepwise_observers(self) -> list[str]:
        """Observers with stride 1 where the learner updates once a window."""
        learners = self.parts.learners.items()
        return [name for name, x in learners if x.stride < self.parts.learner.stride]

    def window_gradients(
        self,
        carries: dict[str, Any],
        buffers: dict[str, Any],
        params: Parameters,
        network: Tensor,
        stream: StreamTensors,
    ) -> tuple[Any, ...]:
        """The gradients of one window (stride, ...) of steps; `carries` are changed in place.

        Answers the network's state, the gradients by learner, errors (stride, models), and for
        observers with stride 1 the steps and the readout's gradient.
        """
        learners = self.parts.learners
        needs_previous_state = any(learner.needs_previous_state for learner in learners.values())

        def forward(network: Tensor, stream_step: Any, params: Parameters) -> tuple[Tensor, Any]:
            next_state, step, error, readout = self.parts.forward(params, network, stream_step)
            del step["stream"]
            if not needs_previous_state:
                del step["before"]
            return next_state, (step, error, readout)

        network, (steps, error, readouts) = scan(forward, network, stream, constants=(params,))
        steps["stream"] = without_noise(stream)
        readout = {name: g.sum(0) for name, g in readouts.items()}
        last = {name: g[-1] for name, g in readouts.items()}
        gradients = {}
        for name, learner in learners.items():
            if name in self._stepwise_observers:
                continue
            inputs = steps, stream
            if learner.stride == 1:
                inputs = pytree.tree_map(lambda t: t[0], inputs)
            arguments = carries[name], buffers[name], params, *inputs
            next_carry, gradient = self.parts.gradient_of(name, *arguments)
            overwrite(carries[name], next_carry)
            with_readout = gradient | (last if learner.last_error_alone else readout)
            gradients[name] = self.parts.match_layout(with_readout, params)
        return network, gradients, error, (steps, readout) if self._stepwise_observers else ()

    def _gradient_sum(
        self, state: State, name: str, stream: StreamTensors, steps_and_readout: Any
    ) -> Parameters:
        """The summed gradients of an observer with stride 1 over a window."""
        observer, (steps, readout) = self.parts.learners[name], steps_and_readout
        total: Parameters = {}
        for index in range(self.parts.learner.stride):
            step = pytree.tree_map(lambda t, i=index: t[i], (steps, stream))
            arguments = state.learners[name], state.buffers[name], state.params, *step
            state.learners[name], gradient = self.parts.gradient_of(name, *arguments)
            total = {n: g + total[n] if total else g for n, g in gradient.items()}
            if observer.block_length and (state.step + index + 1) % observer.block_length == 0:
                observer.rebuild_buffers(state.learners[name], state.buffers[name])
        return total | readout

    @cached_property
    def program(self) -> Compiled:
        """`window_gradients`, compiled."""
        learner, observers = self.parts.learner, list(self.parts.observers.items())
        key_parts = [learner, self.parts.loss, observers]
        return Compiled(self.window_gradients, f"{type(learner).__name__}, a window", key_parts)

    @cached_property
    def update_program(self) -> Compiled:
        """`Parts.update`, compiled."""
        # Whose gradients they are is no part of it: one program serves all learners.
        parts = self.parts
        key_parts = [parts.optimizer, list(parts.observers), *parts.extra_key_parts[1:]]
        key_parts.append(list(parts.learner.architecture.recurrent_shapes()))
        return Compiled(parts.update, f"{type(parts.optimizer).__name__}, an update", key_parts)
