"""Exact real-time recurrent learning, in blocks."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.learners.base import Carry, Learner, Step
from orla.learners.blocks import (
    RetentionBlocks,
    Slots,
    block_steps,
    blocks_by_slots,
    fastest_blocks,
)

# Largest state -> steps of the block that was fastest for it; above all of these, the last.
_CHEAPEST = {48: 32, 192: 48}
_CHEAPEST_ABOVE = 64


@dataclass(frozen=True)
class RTRL(
    Learner,
    name="rtrl",
    label="exact RTRL",
    order=20,
    mark=Mark("#9c2f1c", "s", "-"),
    exactness="exact",
    source="Williams and Zipser 1989",
    time="O(n^3)",
    memory="O(n^3)",
):
    """Exact RTRL (Williams and Zipser 1989), one update a step, at O(n^3) a step.

    The gradient is dL/dh_t P_t with P_t = J_t P_{t-1} + D_t, each J and D taken with the weights
    of its own step (P is not reset when the weights change). P itself is computed once a block
    (Schmidhuber 1992; Williams and Zipser 1995): within a block that starts with P_0,
    dL/dh_t P_t = lambda P_0 + sum_k lambda_k D_k, where lambda_k is dL/dh_t pulled back to step k
    of the block, and lambda to its start. The result is that of the dense recursion, to rounding.
    """

    block: int = option(0, "Steps a block; 0 for the cheapest.", least=0)

    @property
    def block_length(self) -> int:
        size = self.architecture.state_size
        lengths = [length for most, length in _CHEAPEST.items() if size <= most]
        return self.block or (lengths[0] if lengths else _CHEAPEST_ABOVE)

    def init(self, params: Parameters) -> Carry:
        state = torch.func.vmap(self.architecture.initial_state)(params)
        step = {"x": state.new_zeros(self.architecture.n_in)}
        _, tape = self.derivatives.step(params, state, step)
        tape = tape | {"keep": state.new_ones(len(state))}
        blocks = fastest_blocks(self.derivatives, params)
        slots = pytree.tree_map(
            lambda t: t.new_zeros(self.block_length, *t.shape), blocks.pack_step(tape, params)
        )
        return {"slots": slots, "stored": state.new_zeros((), dtype=torch.int64)}

    def buffers(self, params: Parameters) -> dict[str, Any]:
        return {"sensitivity": self.derivatives.zero_sensitivity(params)}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        blocks = blocks_by_slots(self.derivatives, carry["slots"])
        count = carry["stored"] + 1
        slots = _store_step(carry["slots"], count, blocks.pack_step(step["tape"], params))
        gradient = blocks.gradient(carry["sensitivity"], slots, count, step["cotangent"])
        return {"slots": slots, "stored": count % self.block_length}, gradient

    def sensitivity(self, carry: Carry, params: Parameters) -> Parameters:
        """As in the base class; {} for retention networks, whose sensitivity has another form."""
        blocks = blocks_by_slots(self.derivatives, carry["slots"])
        if isinstance(blocks, RetentionBlocks):
            return {}
        like, a = next(iter(params.values())), self.architecture
        units = torch.eye(a.hidden, a.state_size, dtype=like.dtype, device=like.device)
        arguments = carry["sensitivity"], carry["slots"], carry["stored"]
        rows = [blocks.gradient(*arguments, unit.repeat(len(like), 1)) for unit in units]
        return {name: torch.stack([row[name] for row in rows], 1) for name in rows[0]}

    def rebuild_buffers(self, carry: Carry, buffers: dict[str, Any]) -> None:
        blocks_by_slots(self.derivatives, carry["slots"]).advance_sensitivity_over_block(
            buffers["sensitivity"], carry["slots"]
        )

    def buffer_rebuild_bytes(self, params: Parameters, buffers_bytes: int, local_bytes: int) -> int:
        if isinstance(fastest_blocks(self.derivatives, params), RetentionBlocks):
            return 2 * buffers_bytes  # measured: the products of all steps, before P has them
        # Every unit vector of the state is pulled back through all steps of the block.
        return self.block_length * self.architecture.state_size * local_bytes


def _store_step(slots: Slots, stored_count: Tensor, packed_step: dict[str, Any]) -> Slots:
    """The slots with the latest step in the place of the next empty one."""
    # The block is filled from its end, so that pulling back begins with the newest step.
    index = block_steps(slots) - stored_count[None]
    return pytree.tree_map(
        lambda store, new: store.index_copy(0, index, new[None]), slots, packed_step
    )
