"""A block of steps of exact RTRL: what is stored of each step, and the two products with P."""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.derivatives.automatic import RetentionDerivatives
from orla.derivatives.base import Derivatives, Tape
from orla.derivatives.sensitivity import can_use_unit_sensitivity
from orla.derivatives.structured import StructuredDerivatives
from orla.programs import kernels
from orla.programs.compiling import Compiled
from orla.programs.scan import scan, stack_trees, while_loop

# Most steps that one iteration of a loop pulls back through. The overhead of an iteration equals
# about one step; more steps take longer to compile.
_GROUP = 4

# What is stored of the steps of a block: tensors (steps, models, ...), filled from the last slot
# backwards, so that the newest step is in the filled slot of the lowest index.
Slots = dict[str, Any]


def block_steps(slots: Slots) -> int:
    """Steps of a full block."""
    return pytree.tree_leaves(slots)[0].shape[0]


@dataclass(frozen=True)
class PulledBlocks:
    """The stored steps since P was last rebuilt, for any derivatives, on any device."""

    derivatives: Derivatives

    def pack_step(self, tape: Tape, params: Parameters) -> dict[str, Any]:
        """What is stored of a step that was computed with `params`."""
        weights = {name: params[name] for name in self.derivatives.params_for_pull()}
        ones = torch.ones_like(next(iter(tape.values()))[:, 0])
        return {"tape": {"keep": ones} | tape, "weights": weights}

    def gradient(
        self, sensitivity: Parameters, slots: Slots, stored_count: Tensor, cotangent: Tensor
    ) -> Parameters:
        """The cotangent on the newest state (models, state) times the present P.

        `sensitivity` is P before the steps; the last `stored_count` of the slots are filled.
        """
        first_weights = {name: w[0] for name, w in slots["weights"].items()}
        none, length = self.derivatives.zero_gradient_terms(first_weights), block_steps(slots)
        exists = torch.arange(length, device=cotangent.device) >= length - stored_count
        size = max(size for size in range(1, _GROUP + 1) if length % size == 0)
        groups = pytree.tree_map(lambda t: t.unflatten(0, (-1, size)), (slots, exists))

        def goes_on(index: Tensor, *_: Any) -> Tensor:
            return index < length // size

        def backward(
            index: Tensor, cotangent: Tensor, terms: Parameters, groups: Any
        ) -> tuple[Tensor, Tensor, Parameters]:
            group = pytree.tree_map(lambda t: t.index_select(0, index[None])[0], groups)
            return index + 1, *self._pull_group(group, cotangent, terms)

        begun = (length - stored_count) // size, cotangent, none
        _, start_cotangent, terms = while_loop(goes_on, backward, begun, (groups,))
        return self.derivatives.gradient_within_block(sensitivity, start_cotangent, terms)

    def _pull_group(
        self, group: tuple[Slots, Tensor], cotangent: Tensor, terms: Parameters
    ) -> tuple[Tensor, Parameters]:
        """`cotangent` and `terms`, pulled back through slots of which some may be empty."""
        slots, exists_flags = group
        locals_ = []
        for step, exists in enumerate(exists_flags):
            slot = pytree.tree_map(lambda t, at=step: t[at], slots)
            previous_cotangent, local = self.derivatives.pull(
                slot["weights"], slot["tape"], cotangent
            )
            none = pytree.tree_map(torch.zeros_like, local)
            locals_.append(pytree.tree_map(functools.partial(torch.where, exists), local, none))
            cotangent = torch.where(exists, previous_cotangent, cotangent)
        return cotangent, self.derivatives.accumulate_gradient_terms(
            terms, slots["tape"], stack_trees(locals_)
        )

    def advance_sensitivity_over_block(self, sensitivity: Parameters, slots: Slots) -> None:
        """Compute P after a full block from P before it, in place."""
        start_cotangent, locals_ = _compiled_pull_units(self)(slots)
        self.derivatives.advance_sensitivity_over_block(
            sensitivity, start_cotangent, slots["tape"], locals_
        )

    def pull_unit_vectors(self, slots: Slots) -> tuple[Tensor, dict[str, Tensor]]:
        """Every unit vector of the state pulled back to the block's start, and the local terms."""
        example = slots["tape"]["x"]
        size = self.derivatives.architecture.state_size
        rows = torch.eye(size, dtype=example.dtype, device=example.device)

        def pull_one_step(rows: Tensor, slot: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
            return self.derivatives.pull(slot["weights"], slot["tape"], rows)

        # Unused entries are left out, because the compiled loop would copy them at each step.
        entries = slots | {"tape": self.derivatives.tape_for_pull(slots["tape"])}
        return scan(pull_one_step, rows.expand(example.shape[1], size, size).clone(), entries)


@functools.cache
def _compiled_pull_units(blocks: PulledBlocks) -> Compiled:
    """The blocks' `pull_unit_vectors`, compiled."""
    return Compiled(blocks.pull_unit_vectors, "RTRL, rebuilding its sensitivities", [blocks])


@dataclass(frozen=True)
class KernelBlocks:
    """`PulledBlocks` by kernels in C++, for networks whose units interact through W_hh only."""

    derivatives: StructuredDerivatives

    def pack_step(self, tape: Tape, params: Parameters) -> dict[str, Any]:
        on_gates, around = vmap(self.derivatives.architecture.unit_jacobian)(tape["cache"])
        W_hh = params["W_hh"]
        if "keep" in tape:  # nothing is pulled back over the start of a trial
            W_hh, around = (t * tape["keep"][:, None, None] for t in (W_hh, around))
        inputs = self.derivatives.augmented_inputs(tape)
        return {"W_hh": W_hh, "on_gates": on_gates, "around": around, "inputs": inputs}

    def gradient(
        self, sensitivity: Parameters, slots: Slots, stored_count: Tensor, cotangent: Tensor
    ) -> Parameters:
        gradient = kernels.block_gradient(sensitivity["P"], slots, stored_count, cotangent)
        return self.derivatives.architecture.by_parameter(gradient)

    def advance_sensitivity_over_block(self, sensitivity: Parameters, slots: Slots) -> None:
        kernels.advance_sensitivity_over_block(sensitivity["P"], slots)


@dataclass(frozen=True)
class RetentionBlocks(PulledBlocks):
    """For networks whose memories only fade: how much, is known without pulling back."""

    derivatives: RetentionDerivatives

    def pack_step(self, tape: Tape, params: Parameters) -> dict[str, Any]:
        u, v, k = vmap(self.derivatives.architecture.input_value_key)(params, tape["x"])
        return super().pack_step(tape | {"u": u, "v": v, "k": k}, params)

    def gradient(
        self, sensitivity: Parameters, slots: Slots, stored_count: Tensor, cotangent: Tensor
    ) -> Parameters:
        index = block_steps(slots) - stored_count
        newest = pytree.tree_map(lambda t: t.index_select(0, index[None])[0], slots)
        previous_cotangent, present = self.derivatives.pull(
            newest["weights"], newest["tape"], cotangent
        )
        S_cotangent = self.derivatives.architecture.memories(previous_cotangent)
        share = self._retention_shares(slots, index + 1)
        past = self.derivatives.past_gradient(
            sensitivity, S_cotangent, share, slots["weights"], slots["tape"]
        )
        return {name: g + past[name] if name in past else g for name, g in present.items()}

    def advance_sensitivity_over_block(self, sensitivity: Parameters, slots: Slots) -> None:
        newest_index = torch.zeros_like(slots["tape"]["x"][0, 0, 0], dtype=torch.int64)
        share = self._retention_shares(slots, newest_index)
        self.derivatives.advance_sensitivity_over_steps(
            sensitivity, share, slots["weights"], slots["tape"]
        )

    def _retention_shares(self, slots: Slots, newest_index: Tensor) -> Tensor:
        """By how much S faded since each step from `newest_index` on, and since the block began.

        (steps + 1, models, heads). 0 for slots before `newest_index`, and for steps before the
        start of a trial that came later.
        """
        keep = slots["tape"]["keep"]
        steps = torch.arange(len(keep) + 1, device=keep.device)
        age = steps - newest_index
        later = (steps[:-1] >= newest_index) & (steps[:-1] < steps[:, None])
        starts = ((1.0 - keep) * later[:, :, None]).sum(1)
        valid = (age >= 0)[:, None] & (starts == 0)
        gamma = self.derivatives.architecture.gamma(keep)
        return valid[..., None] * gamma ** age.clamp(min=0)[:, None, None]


Blocks = PulledBlocks | KernelBlocks


def fastest_blocks(derivatives: Derivatives, params: Parameters) -> Blocks:
    """The fastest blocks for the architecture, and the parameters' device and precision."""
    independent = can_use_unit_sensitivity(derivatives.architecture)
    return _blocks(derivatives, independent and kernels.can_serve(params["W_hh"]))


def blocks_by_slots(derivatives: Derivatives, slots: Slots) -> Blocks:
    """The kind of blocks that `slots` were made for."""
    return _blocks(derivatives, "on_gates" in slots)


def _blocks(derivatives: Derivatives, with_kernels: bool) -> Blocks:
    if with_kernels:
        return KernelBlocks(derivatives)
    fade = isinstance(derivatives, RetentionDerivatives)
    return RetentionBlocks(derivatives) if fade else PulledBlocks(derivatives)
