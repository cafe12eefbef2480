"""Exact real-time recurrent learning, in blocks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures import Parameters
from orla.compiling import compiled, scan
from orla.learners.base import Carry, Learner


@dataclass(frozen=True)
class RTRL(Learner):
    """Exact RTRL (Williams and Zipser 1989), one update a step, at O(n^3) a step.

    The gradient is dL/dh_t P_t with P_t = J_t P_{t-1} + D_t, each J and D taken with the weights
    of its own step (sensitivities are carried on while the weights change). P is not built at each
    step: over a block that starts with P_0, dL/dh_t P_t = lambda P_0 + sum_k lambda_k D_k, lambda_k
    being dL/dh_t pulled back through the J's of the block; P is rebuilt once a block (Schmidhuber
    1992; Williams and Zipser 1995). The same number as the dense recursion, to rounding.
    """

    block: int | None = None

    @property
    def block_length(self) -> int:
        """Steps a block: `block`, or by a measured rule (the cost is flat near it)."""
        return self.block or (32 if self.architecture.hidden <= 96 else 48)

    def init(self, params: Parameters) -> Carry:
        carry = super().init(params)
        state = carry["state"]
        x = state.new_zeros(self.architecture.n_in)
        _, tape = self.derivatives.forward(params, state, x)
        latest = self._latest(tape, params)
        slots = pytree.tree_map(lambda t: t.new_zeros(self.block_length, *t.shape), latest)
        exists = state.new_zeros(self.block_length, dtype=torch.bool)
        sensitivity = self.derivatives.no_sensitivity(params)
        return carry | {"slots": slots, "exists": exists, "sensitivity": sensitivity}

    def _latest(self, tape: dict[str, Tensor], params: Parameters) -> dict[str, Any]:
        weights = {name: params[name] for name in self.derivatives.history()}
        return {"tape": tape, "weights": weights}

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        derivatives = self.derivatives
        state, tape = derivatives.forward(params, carry["state"], X[0])
        loss, cotangent, readout = derivatives.readout(params, state, Y[0])
        on_state, local = derivatives.pull(params, tape, cotangent)
        on_start, locals_ = self._pull_block(carry["slots"], carry["exists"], on_state)
        gradient = derivatives.gather(*pytree.tree_map(lambda t: t[None], (tape, local)))
        block = derivatives.gather(carry["slots"]["tape"], locals_)
        before = derivatives.sensitivity_gradient(carry["sensitivity"], on_start)
        gradient = {name: g + block[name] + before[name] for name, g in gradient.items()}
        after = carry | {"state": state, "latest": self._latest(tape, params)}
        return after, gradient | readout, loss[None]

    def _pull_block(
        self, slots: dict[str, Any], exists: Tensor, on_state: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        def backward(on_state: Tensor, step: tuple) -> tuple[Tensor, dict[str, Tensor]]:
            slot, there = step
            on_before, local = self.derivatives.pull(slot["weights"], slot["tape"], on_state)
            local = pytree.tree_map(lambda t: torch.where(there, t, torch.zeros_like(t)), local)
            return torch.where(there, on_before, on_state), local

        return scan(backward, on_state, (slots, exists))

    def memory(self, carry: Carry) -> Block:
        return Block(self, carry)

    def rebuild(self, sensitivity: Any, slots: dict[str, Any]) -> Any:
        """P at the end of a full block: every unit vector of the state, pulled back through it."""
        example = slots["tape"]["x"]
        size = self.architecture.state_size
        rows = torch.eye(size, dtype=example.dtype, device=example.device)

        def backward(rows: Tensor, slot: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
            return self.derivatives.pull(slot["weights"], slot["tape"], rows)

        rows = rows.expand(example.shape[1], size, size).clone()
        on_start, locals_ = scan(backward, rows, slots)
        return self.derivatives.rebuild_sensitivity(sensitivity, on_start, slots["tape"], locals_)


class Block:
    """The steps since P was last built, stored in place between two calls of `RTRL.step`."""

    # What `step` reads grows in this many stages: each is one more program to compile, and saves
    # pulling back through slots that are still empty.
    STAGES = 2

    def __init__(self, learner: RTRL, carry: Carry) -> None:
        self.learner = learner
        self.slots, self.exists = carry["slots"], carry["exists"]
        self.length = len(self.exists)
        self.filled = 0
        self._views: dict[int, Carry] = {}

    def remember(self, carry: Carry) -> Carry:
        """Store the latest step; rebuild P where the block is full."""
        carry = dict(carry)
        latest = carry.pop("latest")
        # Filled from the end, so that the newest step comes first when pulling back.
        slot = self.length - 1 - self.filled
        pytree.tree_map(lambda store, new: store[slot].copy_(new), self.slots, latest)
        self.exists[slot] = True
        self.filled += 1
        if self.filled == self.length:
            carry["sensitivity"] = _rebuild(self.learner)(carry["sensitivity"], self.slots)
            self.exists.zero_()
            self.filled = 0
        return carry | self.stage()

    def stage(self) -> Carry:
        """The shortest stage of the store that holds all stored steps."""
        stages = min(self.STAGES, self.length)
        shown = -(-self.length * -(-max(self.filled, 1) * stages // self.length) // stages)
        start = self.length - min(shown, self.length)
        if start not in self._views:
            self._views[start] = {
                "slots": pytree.tree_map(lambda store: store[start:], self.slots),
                "exists": self.exists[start:],
            }
        return self._views[start]


@functools.cache
def _rebuild(learner: RTRL) -> Callable[..., Any]:
    return compiled(learner.rebuild, "rtrl, rebuilding the sensitivities")
