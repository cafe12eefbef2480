"""Loops over steps: Python's own, or one loop of a program where they are traced for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.programs import torch_private
from orla.programs.traced_loops import in_key_order_of, run_loop
from orla.programs.tracing import TRACING, Body, traced_body_and_output

Trees = tuple[Any, ...]


def scan(
    body: Body, carry: Any, inputs: Any, *, constants: Trees = (), reverse: bool = False
) -> tuple[Any, Any]:
    """Loop `carry, output = body(carry, input, *constants)` over the first axis of `inputs`.

    All are trees of tensors. Answers the last carry, and the outputs, stacked in the inputs' order
    also in `reverse`. `body` is pure, and closes over anything but tensors made in the program that
    it is part of.
    """
    if reverse:
        flipped = pytree.tree_map(lambda t: t.flip(0), inputs)
        carry, outputs = scan(body, carry, flipped, constants=constants)
        return carry, pytree.tree_map(lambda t: t.flip(0), outputs)
    length = _first_axis_length(inputs)
    if length == 1 or not TRACING["on"]:
        return run_loop(body, carry, inputs, constants, range(length))
    trees = carry, inputs, constants
    structure = pytree.tree_structure(trees)
    leaves = map(pytree.tree_leaves, trees)
    answer_structures: list[Any] = []

    def step(*leaves: Tensor) -> list[Tensor]:
        carry, entry, constants = pytree.tree_unflatten(leaves, structure)
        answer = body(carry, entry, *constants)
        answer_structures.append(pytree.tree_structure(answer))
        return _cloned_leaves(answer)

    return pytree.tree_unflatten(torch_private.scan_loop(step, *leaves), answer_structures[-1])


def scan_in_place(
    body: Body, state: Any, inputs: Any, *, constants: Trees = (), start: Tensor, stop: Tensor
) -> tuple[Tensor, Any]:
    """As `scan`, over inputs from `start` up to `stop`, with the carry changed in place.

    Answers the position after the last step, and outputs for all inputs, unset where no step was.
    A program that it is part of answers with what it returns as it is, and reads what it changes
    nowhere else: the compiler knows nothing of what the loop writes. No two tensors of `state`
    share memory. The positions are on the CPU, one step at least apart; a compiled program serves
    all.
    """
    length = _first_axis_length(inputs)
    if not TRACING["on"]:
        steps = range(int(start), int(stop))
        after, outputs = run_loop(body, state, inputs, constants, steps)
        overwrite(state, after)

        def scatter(rows: Tensor) -> Tensor:
            every = rows.new_empty(length, *rows.shape[1:])
            every[steps.start : steps.stop] = rows
            return every

        return stop, pytree.tree_map(scatter, outputs)
    first = pytree.tree_map(lambda x: x[0], inputs)
    run, (_, example) = traced_body_and_output(body, (state, first, *constants))
    outputs = pytree.tree_map(
        lambda t: torch.empty(length, *t.shape, dtype=t.dtype, device=t.device), example
    )

    leaves, structure = pytree.tree_flatten(state)
    carry_leaves = () if TRACING["in place"] else tuple(leaves)

    def goes_on(at: Tensor, *carry_leaves: Tensor) -> Tensor:
        return at < stop

    def step(at: Tensor, *carry_leaves: Tensor) -> tuple[Tensor, ...]:
        entry = pytree.tree_map(lambda t: t.index_select(0, at[None])[0], inputs)
        before = pytree.tree_unflatten(carry_leaves, structure) if carry_leaves else state
        after, output = run(before, entry, *constants)
        pytree.tree_map(lambda rows, o: rows.index_copy_(0, at[None], o[None]), outputs, output)
        if not carry_leaves:
            overwrite(state, after)
            return (at + 1,)
        return (at + 1, *_cloned_leaves(in_key_order_of(before, after)))

    end, *carry_leaves = _torch_while_loop(goes_on, step, (start, *carry_leaves))
    if carry_leaves:
        overwrite(state, pytree.tree_unflatten(carry_leaves, structure))
    return end, outputs


def overwrite(state: Any, after: Any) -> None:
    """Change the tensors of `state` to those of `after`, which may be some of `state` itself."""
    copies = pytree.tree_map(torch.clone, after)
    pytree.tree_map(lambda old, new: old.copy_(new), state, copies)


def while_loop(
    condition: Callable[..., Tensor],
    body: Callable[..., Trees],
    carry: Trees,
    constants: Trees = (),
) -> Trees:
    """Loop `carry = body(*carry, *constants)` while `condition` of the same, one number, is true.

    It looks at a value in each turn, which it has to wait for on a CUDA device.
    """
    if not TRACING["on"]:
        while condition(*carry, *constants):
            carry = body(*carry, *constants)
        return carry
    run, _ = traced_body_and_output(body, (*carry, *constants))
    leaves, structure = pytree.tree_flatten(carry)

    def goes_on(*leaves: Tensor) -> Tensor:
        return condition(*pytree.tree_unflatten(leaves, structure), *constants)

    def turn(*leaves: Tensor) -> tuple[Tensor, ...]:
        return tuple(_cloned_leaves(run(*pytree.tree_unflatten(leaves, structure), *constants)))

    return pytree.tree_unflatten(_torch_while_loop(goes_on, turn, tuple(leaves)), structure)


def _torch_while_loop(
    condition: Callable[..., Tensor], body: Callable[..., Any], carry: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    torch.compiler.reset()  # else the second loop of a program is traced for tensors of every size
    return torch.while_loop(condition, body, carry)


def match_layout_in_program(tensor: Tensor, like: Tensor) -> Tensor:
    """`tensor`, in a program also with the strides of `like`, of whose shape it is.

    Left to itself the compiler may lay out whatever is computed from it the other way round, and
    then goes through `like` number by number.
    """
    if not (TRACING["on"] and TRACING["layouts"]):
        return tensor
    return torch_private.with_strides_of(tensor, like)


def materialize(tensor: Tensor) -> Tensor:
    """`tensor`, which a program computes once, before whatever reads it; under vmap too.

    Left to itself the compiler computes what is cheap anew wherever it is read: a vector that is
    multiplied with a matrix, once a row.
    """
    return _Stored.apply(tensor) if TRACING["on"] and TRACING["layouts"] else tensor


class _Stored(torch.autograd.Function):
    """Gives a private operation, which knows no vmap, the rule that it needs for it."""

    @staticmethod
    def forward(tensor: Tensor) -> Tensor:
        # Unlike `tensor`, the new one repeats no number in memory.
        return match_layout_in_program(tensor, torch.empty_like(tensor))

    @staticmethod
    def setup_context(context: Any, inputs: Any, output: Any) -> None:
        pass  # it has no backward: a learner's own computations are never differentiated

    @staticmethod
    def vmap(info: Any, dimensions: tuple[int | None], tensor: Tensor) -> tuple[Tensor, int | None]:
        return materialize(tensor), dimensions[0]


def _first_axis_length(inputs: Any) -> int:
    return pytree.tree_leaves(inputs)[0].shape[0]


def _cloned_leaves(outputs: Any) -> list[Tensor]:
    # A loop's outputs may share no memory with its inputs or each other.
    return [output.clone() for output in pytree.tree_leaves(outputs)]


def stack_trees(outputs: Sequence[Any]) -> Any:
    """Trees of tensors of one structure, stacked along a new first axis."""
    return pytree.tree_map(lambda *leaves: torch.stack(leaves), *outputs)
