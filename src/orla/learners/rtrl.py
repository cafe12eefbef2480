"""Exact real-time recurrent learning, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures import Parameters
from orla.engine.memory import block_length as cheapest_block
from orla.learners.base import Carry, Learner, Memory
from orla.learners.blocks import Slots, blocks_for, blocks_of, length_of


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
    def has_memory(self) -> bool:
        return True

    @property
    def block_length(self) -> int:
        """Steps a block: `block`, or the cheapest for the architecture's state."""
        return self.block or cheapest_block(self.architecture.state_size)

    def init(self, params: Parameters) -> Carry:
        carry = super().init(params)
        stored = torch.zeros((), dtype=torch.int64, device=carry["state"].device)
        return carry | {"stored": stored}

    def memory(self, params: Parameters) -> Block:
        state = super().init(params)["state"]
        _, tape = self.derivatives.forward(params, state, state.new_zeros(self.architecture.n_in))
        latest = blocks_for(self.derivatives, params).kept(tape, params)
        slots = pytree.tree_map(lambda t: t.new_zeros(self.block_length, *t.shape), latest)
        return Block(self, slots, self.derivatives.no_sensitivity(params))

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        """As `Learner.step`, with what `Block` holds in `carry`; carry["slots"] is changed."""
        derivatives, slots = self.derivatives, carry["slots"]
        blocks = blocks_of(derivatives, slots)
        state, tape = derivatives.forward(params, carry["state"], X[0])
        loss, cotangent, readout = derivatives.readout(params, state, Y[0])
        stored = carry["stored"] + 1
        _store(slots, stored, blocks.kept(tape, params))
        gradient = blocks.gradient(carry["sensitivity"], slots, stored, cotangent)
        return {"state": state, "stored": stored}, gradient | readout, loss[None]


def _store(slots: Slots, stored: Tensor, latest: dict[str, Any]) -> None:
    # From the end, so that the newest step comes first when pulling back.
    index = length_of(slots) - stored[None]
    pytree.tree_map(lambda store, new: store.index_copy_(0, index, new[None]), slots, latest)


class Block(Memory):
    """The steps since P was last built, and P."""

    def __init__(self, learner: RTRL, slots: Slots, sensitivity: Parameters) -> None:
        super().__init__({"slots": slots}, {"sensitivity": sensitivity})
        self._blocks = blocks_of(learner.derivatives, slots)
        self._length, self._stored = learner.block_length, 0

    @property
    def room(self) -> int:
        """Steps until the block is full."""
        return self._length - self._stored

    def remember(self, carry: Carry, steps: int) -> Carry:
        """Count steps that were stored; rebuild P where the block is full."""
        self._stored += steps
        if self.room:
            return carry
        self._blocks.rebuild(self.read["sensitivity"], self.changed["slots"])
        self._stored = 0
        return carry | {"stored": torch.zeros_like(carry["stored"])}
