"""Exact real-time recurrent learning, in blocks."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures import Parameters
from orla.compiling import Compiled, repeat, scan, stacked
from orla.learners.base import Carry, Learner
from orla.memory import block_length as cheapest_block

# Steps pulled back through in one turn of a loop, at most. A turn costs about one step beside its
# own; a longer one takes longer to compile.
_GROUP = 4


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
    def in_place(self) -> bool:
        return True

    @property
    def block_length(self) -> int:
        """Steps a block: `block`, or the cheapest for the architecture's state."""
        return self.block or cheapest_block(self.architecture.state_size)

    def init(self, params: Parameters) -> Carry:
        carry = super().init(params)
        state = carry["state"]
        _, tape = self.derivatives.forward(params, state, state.new_zeros(self.architecture.n_in))
        latest = self._latest(tape, params)
        slots = pytree.tree_map(lambda t: t.new_zeros(self.block_length, *t.shape), latest)
        stored = torch.zeros((), dtype=torch.int64, device=state.device)
        sensitivity = self.derivatives.no_sensitivity(params)
        # In the order in which `Block.remember` puts them together: another order of keys would be
        # another program.
        return carry | {"stored": stored, "slots": slots, "sensitivity": sensitivity}

    def _latest(self, tape: dict[str, Tensor], params: Parameters) -> dict[str, Any]:
        weights = {name: params[name] for name in self.derivatives.history()}
        return {"tape": tape, "weights": weights}

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        """As `Learner.step`, but stores the step in place: carry["slots"] is changed."""
        derivatives, slots = self.derivatives, carry["slots"]
        state, tape = derivatives.forward(params, carry["state"], X[0])
        loss, cotangent, readout = derivatives.readout(params, state, Y[0])
        stored = carry["stored"] + 1
        _store(slots, stored, self._latest(tape, params))
        on_start, terms = self._pull_block(slots, stored, cotangent, derivatives.no_terms(params))
        gradient = derivatives.sensitivity_gradient(carry["sensitivity"], on_start, terms)
        return {"state": state, "stored": stored}, gradient | readout, loss[None]

    def _pull_block(
        self, slots: dict[str, Any], stored: Tensor, cotangent: Tensor, terms: Parameters
    ) -> tuple[Tensor, Parameters]:
        """The cotangent at the block's start, and `terms` with those of the block's steps."""
        length = _length(slots)
        size = max(size for size in range(1, _GROUP + 1) if length % size == 0)
        exists = torch.arange(length, device=cotangent.device) >= length - stored
        groups = pytree.tree_map(lambda t: t.unflatten(0, (-1, size)), (slots, exists))

        def more(at: Tensor, cotangent: Tensor, terms: Parameters) -> Tensor:
            return at < length // size

        def backward(
            at: Tensor, cotangent: Tensor, terms: Parameters
        ) -> tuple[Tensor, Tensor, Parameters]:
            group, there = pytree.tree_map(lambda t: t.index_select(0, at[None])[0], groups)
            cotangent, locals_ = self._pull_group(group, there, cotangent)
            return at + 1, cotangent, self.derivatives.with_terms(terms, group["tape"], locals_)

        first = (length - stored) // size
        _, on_start, terms = repeat(more, backward, (first, cotangent, terms))
        return on_start, terms

    def _pull_group(
        self, group: dict[str, Any], there: Tensor, cotangent: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        locals_ = []
        for step, exists in enumerate(there):
            slot = pytree.tree_map(lambda t, at=step: t[at], group)
            before, local = self.derivatives.pull(slot["weights"], slot["tape"], cotangent)
            none = pytree.tree_map(torch.zeros_like, local)
            locals_.append(pytree.tree_map(functools.partial(torch.where, exists), local, none))
            cotangent = torch.where(exists, before, cotangent)
        return cotangent, stacked(locals_)

    def memory(self, carry: Carry) -> Block:
        return Block(self, carry)

    def pull_units(self, slots: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
        """Every unit vector of the state, pulled back through a full block: P's rows.

        Answers with the cotangents at the block's start (models, state, state) and the local
        terms, steps on the first axis.
        """
        example = slots["tape"]["x"]
        size = self.architecture.state_size
        rows = torch.eye(size, dtype=example.dtype, device=example.device)

        def backward(rows: Tensor, slot: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
            return self.derivatives.pull(slot["weights"], slot["tape"], rows)

        # A turn of the compiled loop handles all that it is given, used or not.
        pulled = slots | {"tape": self.derivatives.pulled(slots["tape"])}
        return scan(backward, rows.expand(example.shape[1], size, size).clone(), pulled)


def _length(slots: dict[str, Any]) -> int:
    return pytree.tree_leaves(slots)[0].shape[0]


def _store(slots: dict[str, Any], stored: Tensor, latest: dict[str, Any]) -> None:
    # From the end, so that the newest step comes first when pulling back.
    index = _length(slots) - stored[None]
    pytree.tree_map(lambda store, new: store.index_copy_(0, index, new[None]), slots, latest)


class Block:
    """The steps since P was last built, and P."""

    def __init__(self, learner: RTRL, carry: Carry) -> None:
        self.learner = learner
        self.slots, self.none_stored = carry["slots"], carry["stored"]
        self.sensitivity = carry["sensitivity"]
        self.length, self.stored = learner.block_length, 0

    def remember(self, carry: Carry) -> Carry:
        """Count the step that was stored; rebuild P where the block is full."""
        self.stored += 1
        if self.stored == self.length:
            self._rebuild()
            carry = carry | {"stored": self.none_stored}
        return carry | {"slots": self.slots, "sensitivity": self.sensitivity}

    def _rebuild(self) -> None:
        on_start, locals_ = _pull_units(self.learner)(self.slots)
        self.learner.derivatives.rebuild_sensitivity(
            self.sensitivity, on_start, self.slots["tape"], locals_
        )
        self.stored = 0


@functools.cache
def _pull_units(learner: RTRL) -> Compiled:
    return Compiled(learner.pull_units, "RTRL, rebuilding its sensitivities", [learner])
