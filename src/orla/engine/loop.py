"""The loop: adapts a batch of models to a stream with a learner and an optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters, rows_along_memory
from orla.engine.state import Carried, State, noise
from orla.errors import OrlaError
from orla.interventions.base import Gradients, Intervention
from orla.learners.base import Learner, Memory
from orla.losses.base import Loss
from orla.optimizers.base import Optimizer
from orla.probes.base import Probe, Update
from orla.programs.compiling import Compiled
from orla.programs.scan import in_layout_of, readable, scan, scan_in_place

# With at least so many steps between two updates, updates are not compiled.
_SELDOM = 50

# Steps of a stream: "x" (steps, n_in) and "y" (steps, ...), shared by the models, or
# (steps, models, ...); and where the stream has them "scored" and "starts", bool.
Moments = dict[str, Tensor]


@dataclass(frozen=True)
class Adaptation:
    """The result of a run, models on the first axis.

    errors: (models, steps) of each step, before its update; 0 where a step is not scored.
    state: After the last step.
    series: Measurements of the probes, (models, updates, ...) each.
    snapshots: {step: (params, network state)} after so many steps of the stream.
    """

    errors: np.ndarray
    state: State
    series: dict[str, np.ndarray]
    snapshots: dict[int, tuple[Parameters, Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """Adapts batches of models; compiled once for each shape.

    learner: Its gradient changes the networks.
    observers: Learners by name that compute gradients on the same trajectory without changing it.
        An observer has the learner's stride, or 1: then its gradients of a window are summed.
    interventions: Changes to the gradient, in order.
    segment: Steps that are processed in one piece, a multiple of the learner's stride.
    """

    learner: Learner
    optimizer: Optimizer
    loss: Loss
    observers: Mapping[str, Learner] = field(default_factory=dict)
    interventions: Sequence[Intervention] = ()
    probes: Sequence[Probe] = ()
    segment: int = 200

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

    def start(
        self,
        params: Parameters,
        *,
        seeds: Sequence[int] | None = None,
        network: Tensor | None = None,
        optimizer: dict[str, Tensor] | None = None,
    ) -> State:
        """The state before the first step.

        Args:
            params: Starting parameters, each (models, ...); they are copied.
            seeds: Seeds of the models' random numbers; 0, 1, ... by default.
            network: States of the networks (models, state_size); initial states by default.
            optimizer: State of the optimizer; its initial state by default.
        """
        with torch.no_grad():
            params = _own(rows_along_memory(params))
            models = len(next(iter(params.values())))
            if network is None:
                network = vmap(self.learner.architecture.initial_state)(params)
            if optimizer is None:
                optimizer = vmap(self.optimizer.init)(params)
            return State(
                params=params,
                network=network.clone(),
                learner=_carried(self.learner, params),
                observers={n: _carried(o, params) for n, o in self.observers.items()},
                optimizer=_own(optimizer),
                interventions=[_own(vmap(i.init)(params)) for i in self.interventions],
                probes=[_own(vmap(p.init)(params)) for p in self.probes],
                seeds=tuple(range(models) if seeds is None else seeds),
            )

    def run(
        self,
        state: State,
        rates: Tensor,
        moments: Moments,
        *,
        snapshots: Sequence[int] = (),
        on_segment: Callable[[int], None] | None = None,
    ) -> Adaptation:
        """Adapt to the steps of `moments` from `state`, which is changed in place.

        Args:
            state: From `start`, or the state after an earlier run.
            rates: Learning rates (models,).
            moments: The next steps of the stream, in the precision of the parameters. Steps that
                do not fill a last update are ignored.
            snapshots: Steps of the stream after which parameters and network state are kept,
                multiples of `segment`.
            on_segment: Called with the number of steps done since the last call.

        Raises:
            OrlaError: Too few steps for one update; a snapshot is no multiple of `segment` or is
                not reached.
        """
        length = len(moments["x"])
        steps = length - length % self.learner.stride
        first = state.step
        self._check(first, steps, snapshots)
        with torch.no_grad():
            moments = {name: m[:steps].contiguous() for name, m in moments.items()}
            errors, series, kept, at = [], [], {}, 0
            while at < steps:
                stop = min(steps, at + self.segment - (first + at) % self.segment)
                part = {name: m[at:stop] for name, m in moments.items()}
                error, watched = self._advance(state, rates, part)
                errors.append(error)
                series.append(watched)
                if state.step in snapshots:
                    kept[state.step] = (_own(state.params), state.network.clone())
                if on_segment:
                    on_segment(stop - at)
                at = stop
        return Adaptation(
            errors=torch.cat(errors).T.cpu().numpy(),
            state=state,
            series={
                k: torch.cat([s[k] for s in series]).transpose(0, 1).cpu().numpy()
                for k in series[0]
            },
            snapshots=kept,
        )

    def _check(self, first: int, steps: int, snapshots: Sequence[int]) -> None:
        if steps == 0:
            raise OrlaError(f"the stream is shorter than one update ({self.learner.stride} steps)")
        for step in snapshots:
            if step % self.segment or not first < step <= first + steps:
                raise OrlaError(
                    f"no snapshot can be taken after {step} of {first + steps} steps;"
                    f" choose a multiple of {self.segment}"
                )

    def _advance(
        self, state: State, rates: Tensor, moments: Moments
    ) -> tuple[Tensor, dict[str, Tensor]]:
        for learner, _ in self._learners(state):
            if learner.noise:
                steps = len(moments["x"])
                drawn = noise(state.seeds, state.step, steps, learner.noise, state.network)
                moments = moments | {_noise_of(learner): drawn}
        if self.learner.loops or any(o.loops for o in self.observers.values()):
            return self._advance_by_updates(state, rates, moments)
        return self._advance_by_steps(state, rates, moments)

    def _learners(self, state: State) -> list[tuple[Learner, Carried]]:
        """The learner and the observers, each with its carry and buffers."""
        watching = [(self.observers[name], carried) for name, carried in state.observers.items()]
        return [(self.learner, state.learner), *watching]

    def _room(self, state: State) -> int:
        """Steps until the next end of a learner's block, at most a segment."""
        ends = [
            learner.block_length - state.step % learner.block_length
            for learner, _ in self._learners(state)
            if learner.block_length
        ]
        return min([self.segment, *ends])

    def _end_blocks(self, state: State) -> None:
        for learner, carried in self._learners(state):
            if learner.block_length and state.step % learner.block_length == 0:
                learner.end_block(carried.memory)

    @cached_property
    def _longest(self) -> int:
        """Most steps of one CUDA graph.

        Each number of steps needs a graph of its own. With the greatest common divisor of segment
        and blocks, one graph serves nearly all steps.
        """
        blocks = [x.block_length for x in (self.learner, *self.observers.values())]
        return math.gcd(self.segment, *blocks)

    # One update a step: step and update compile together, in one loop.

    def _advance_by_steps(
        self, state: State, rates: Tensor, moments: Moments
    ) -> tuple[Tensor, dict[str, Tensor]]:
        steps = len(moments["x"])
        on_cpu = readable(state.network)
        if on_cpu:
            # Padded to the length of a segment, so that one program serves every part of it.
            moments = {name: _padded(m, self.segment - steps) for name, m in moments.items()}
        errors, series, at = [], [], 0
        while at < steps:
            stop = min(steps, at + self._room(state), at + (steps if on_cpu else self._longest))
            if on_cpu:
                some, start, end = moments, at, stop
            else:
                # A CUDA graph repeats the positions that it was recorded with, so it gets exactly
                # the steps of this part.
                some, start, end = {n: m[at:stop] for n, m in moments.items()}, 0, stop - at
            ends = torch.tensor(start), torch.tensor(end)
            carry, error, watched = self._compiled_run(*self._split(state), rates, some, *ends)
            self._take(state, carry)
            state.step += stop - at
            self._end_blocks(state)
            errors.append(error[start:end])
            series.append({name: values[start:end] for name, values in watched.items()})
            at = stop
        return torch.cat(errors), {k: torch.cat([s[k] for s in series]) for k in series[0]}

    def _split(self, state: State) -> tuple[Any, Any, Any]:
        """What a step returns anew, what it changes in place, and what it only reads."""
        learners = {"own": state.learner, **{f"of {n}": c for n, c in state.observers.items()}}
        carry = {
            "network": state.network,
            "learners": {name: c.carry for name, c in learners.items()},
            "interventions": list(state.interventions),
            "probes": list(state.probes),
        }
        changed = {
            "params": state.params,
            "optimizer": state.optimizer,
            "learners": {name: c.memory.changed for name, c in learners.items()},
        }
        return carry, changed, {name: c.memory.read for name, c in learners.items()}

    def _take(self, state: State, carry: dict[str, Any]) -> None:
        state.network = carry["network"]
        state.learner.carry = carry["learners"]["own"]
        for name, carried in state.observers.items():
            carried.carry = carry["learners"][f"of {name}"]
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
            for name, learner in self._named.items():
                own = _with_noise(step, moment, learner)
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
    def _named(self) -> dict[str, Learner]:
        return {"own": self.learner, **{f"of {n}": o for n, o in self.observers.items()}}

    def _forward(
        self, params: Parameters, network: Tensor, moment: Moments
    ) -> tuple[Tensor, dict[str, Any], Tensor, Parameters]:
        """One step forward: the next network state, `learners.base.Step`, error and readout."""
        d = self.learner.derivatives
        before = d.before(params, network, moment)
        after, tape = d.forward(params, network, moment)
        error, cotangent, readout = d.readout(self.loss, params, after, moment)
        seen = {name: m for name, m in moment.items() if not name.startswith(_NOISE)}
        step = {"moment": seen, "before": before, "tape": tape, "cotangent": cotangent}
        return after, step, error, readout

    def _laid_out(self, gradient: Parameters, params: Parameters) -> Parameters:
        """The gradient, in the memory layout of the parameters where that is faster.

        Where an update depends on each number alone, the layout is left to the compiler, which may
        fuse the gradient into the update. Elsewhere the gradient is laid out as the parameters.
        """
        plain = not (self.observers or self.interventions)
        apart = self.learner.loops or self.learner.block_length
        if self.optimizer.elementwise and plain and not apart:
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
        updates, optimizer = vmap(self.optimizer.update)(own, optimizer, params, rates)
        moment = {name: m for name, m in moment.items() if not name.startswith(_NOISE)}
        update = Update(params, own, observers, learned, updates, network, moment, error)
        axes = Update(0, 0, 0, 0, 0, 0, self._moment_axes(moment, error), error.dim() - 1)
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

    # Several steps an update: the gradient of a window and the update are compiled separately, so
    # that each serves all optimizers or all learners.

    def _advance_by_updates(
        self, state: State, rates: Tensor, moments: Moments
    ) -> tuple[Tensor, dict[str, Tensor]]:
        errors, series, stride = [], [], self.learner.stride
        # With few updates, compiling takes longer than it saves.
        apply = self._apply if stride >= _SELDOM else self._compiled_apply
        for at in range(0, len(moments["x"]), stride):
            window = {name: m[at : at + stride] for name, m in moments.items()}
            carry, changed, read = self._split(state)
            after, network, gradients, error, steps = self._compiled_window(
                carry["learners"], changed["learners"], read, state.params, state.network, window
            )
            for name in self._stepwise:
                after[f"of {name}"] = state.observers[name].carry
                gradients[f"of {name}"] = self._watched(state, name, window, steps)
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
        return any(learner.reads_before for learner in self._named.values())

    @cached_property
    def _stepwise(self) -> list[str]:
        """Observers with stride 1 where the learner updates once a window."""
        return [n for n, o in self.observers.items() if o.stride < self.learner.stride]

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
        steps["moment"] = {n: m for n, m in moments.items() if not n.startswith(_NOISE)}
        readout = {name: g.sum(0) for name, g in readouts.items()}
        after, gradients = {}, {}
        for name, learner in self._named.items():
            if learner.stride < self.learner.stride:
                continue
            step = _with_noise(steps, moments, learner)
            if learner.stride == 1:
                step = pytree.tree_map(lambda t: t[0], step)
            held = carries[name] | changed[name] | read[name]
            after[name], gradient = learner.gradient(held, params, step)
            gradients[name] = self._laid_out(gradient | readout, params)
        return after, network, gradients, error, (steps, readout) if self._stepwise else ()

    def _watched(self, state: State, name: str, moments: Moments, seen: Any) -> Parameters:
        """The summed gradients of an observer with stride 1 over a window."""
        observer, carried = self.observers[name], state.observers[name]
        steps, readout = seen
        steps = _with_noise(steps, moments, observer)
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
    def _compiled_run(self) -> Compiled:
        name = f"{_name(self.learner)} + {_name(self.optimizer)}"
        return Compiled(self.run_steps, name, self._made_of)

    @cached_property
    def _compiled_window(self) -> Compiled:
        made_of = [self.learner, self.loss, list(self.observers.items())]
        return Compiled(self.window, f"{_name(self.learner)}, a window", made_of)

    @cached_property
    def _compiled_apply(self) -> Compiled:
        return Compiled(self._apply, f"{_name(self.optimizer)}, an update", self._made_of)

    @property
    def _made_of(self) -> list[Any]:
        watching = [list(self.observers.items()), list(self.interventions), list(self.probes)]
        return [self.learner, self.optimizer, self.loss, *watching]


# Prefix of the entries of a moment with random numbers; one entry for each number of them.
_NOISE = "noise"


def _noise_of(learner: Learner) -> str:
    return f"{_NOISE}-{learner.noise}"


def _with_noise(step: dict[str, Any], moment: Moments, learner: Learner) -> dict[str, Any]:
    return step | {"noise": moment[_noise_of(learner)]} if learner.noise else step


def _padded(moment: Tensor, missing: int) -> Tensor:
    return torch.cat([moment, moment.new_zeros(missing, *moment.shape[1:])]) if missing else moment


def _carried(learner: Learner, params: Parameters) -> Carried:
    memory = learner.memory(params)
    return Carried(_own(learner.init(params)), Memory(_own(memory.changed), _own(memory.read)))


def _own(tree: Any) -> Any:
    """Copies of the tensors, no two of which share memory, to be changed in place."""
    return pytree.tree_map(torch.clone, tree)


def _name(thing: object) -> str:
    return type(thing).__name__
