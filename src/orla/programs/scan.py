"""Loops over steps: Python's own, or one loop of a program where they are traced for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from orla.programs import torch_private

_tracing = {"on": False}


def traced(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[GraphModule, pytree.TreeSpec]:
    """The operations on tensors that `function` carries out, loops among them.

    Args:
        function: Of trees of tensors; pure but for changes in place of what it is given.
        arguments: Of the shapes that every call will have.

    Returns:
        A graph from the arguments' leaves to the answer's, and the answer's structure.
    """
    leaves, given = pytree.tree_flatten(arguments)
    answered: list[Any] = []

    def flat(*leaves: Tensor) -> list[Tensor]:
        answer = function(*pytree.tree_unflatten(leaves, given))
        outputs, structure = pytree.tree_flatten(answer)
        answered.append(structure)
        return outputs

    before, _tracing["on"] = _tracing["on"], True
    try:
        return torch_private.graph_of(flat, leaves), answered[-1]
    finally:
        _tracing["on"] = before


def scan(
    body: Callable[..., tuple[Any, Any]],
    carry: Any,
    inputs: Any,
    *,
    constants: tuple[Any, ...] = (),
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Loop `carry, output = body(carry, input, *constants)` over the first axis of `inputs`.

    Args:
        body: Pure. It may close over anything but tensors made in the program that it is part of.
        carry, inputs, constants: Trees of tensors.
        reverse: The last input comes first; outputs keep the inputs' order.

    Returns:
        The last carry, and the outputs, stacked.
    """
    length = _length(inputs)
    if length > 1 and _tracing["on"]:
        return _scan_traced(body, carry, inputs, constants, reverse)
    outputs: list[Any] = []
    order = range(length - 1, -1, -1) if reverse else range(length)
    for index in order:
        carry, output = body(carry, _at(inputs, index), *constants)
        outputs.append(output)
    return carry, stacked(outputs[::-1] if reverse else outputs)


def _scan_traced(
    body: Callable[..., tuple[Any, Any]], carry: Any, inputs: Any, constants: Any, reverse: bool
) -> tuple[Any, Any]:
    flat = _Flat(carry, inputs, constants)
    structures: list[Any] = []

    def step(*leaves: Tensor) -> list[Tensor]:
        carry, one, constants = flat.whole(leaves)
        carry, output = body(carry, one, *constants)
        outputs, structure = pytree.tree_flatten(output)
        structures.append(structure)
        return _without_aliases([*pytree.tree_leaves(carry), *outputs])

    carried, given, fixed = flat.leaves
    if reverse:
        given = [x.flip(0) for x in given]
    results = torch_private.scan_loop(step, carried, given, fixed)
    after, outputs = results[: len(carried)], results[len(carried) :]
    if reverse:
        outputs = [x.flip(0) for x in outputs]
    return (
        pytree.tree_unflatten(after, flat.structures[0]),
        pytree.tree_unflatten(outputs, structures[-1]),
    )


def scan_in_place(
    body: Callable[..., tuple[Any, Any]],
    carry: Any,
    inputs: Any,
    changed: Any,
    *,
    constants: tuple[Any, ...],
    start: Tensor,
    stop: Tensor,
) -> tuple[Any, Any]:
    """As `scan`, over inputs from `start` up to `stop`; the body changes tensors in place.

    The compiler knows nothing of what the loop writes: a program that it is part of answers with
    its outputs as they are, and reads what it changes nowhere else.

    Args:
        body: Called with carry, input, the constants and `changed`.
        carry, inputs, constants: As for `scan`.
        changed: What the body changes in place, a tree of tensors.
        start, stop: Positions, on the CPU. At least one step lies between. A compiled program
            serves all.

    Returns:
        The last carry, and outputs for all inputs; those not between the two positions are unset.
    """
    if not _tracing["on"]:
        outputs: Any = None
        for index in range(int(start), int(stop)):
            carry, output = body(carry, _at(inputs, index), *constants, changed)
            if outputs is None:
                outputs = pytree.tree_map(lambda t: t.new_empty(_length(inputs), *t.shape), output)
            pytree.tree_map(lambda all_, one, at=index: all_[at].copy_(one), outputs, output)
        return carry, outputs
    with torch_private.untraced():
        _, example = body(carry, _at(inputs, 0), *constants, changed)
    # Not zeros: a compiler takes two of one shape for the same, though both are written to.
    outputs = pytree.tree_map(
        lambda t: torch.empty(_length(inputs), *t.shape, dtype=t.dtype, device=t.device), example
    )
    flat = _Flat(carry, (stop, inputs, constants), (changed, outputs))

    def more(at: Tensor, *leaves: Tensor) -> Tensor:
        _, (stop, _, _), _ = flat.whole(leaves)
        return at < stop

    def step(at: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        carry, (_, inputs, constants), (changed, outputs) = flat.whole(leaves)
        one = pytree.tree_map(lambda t: t.index_select(0, at[None])[0], inputs)
        carry, output = body(carry, one, *constants, changed)
        pytree.tree_map(lambda all_, o: all_.index_copy_(0, at[None], o[None]), outputs, output)
        return tuple(_without_aliases([at + 1, *pytree.tree_leaves(carry)]))

    carried, fixed, written = flat.leaves
    results = torch_private.while_loop(more, step, (start, *carried), fixed, written)
    return pytree.tree_unflatten(results[1:], flat.structures[0]), outputs


def repeat(
    condition: Callable[..., Tensor],
    body: Callable[..., tuple],
    carry: tuple,
    constants: tuple[Any, ...] = (),
) -> tuple[Any, ...]:
    """Loop `carry = body(*carry, *constants)` while `condition` of the same, one number, is true.

    It looks at a value in each turn, which it has to wait for on a CUDA device.
    """
    if not _tracing["on"]:
        while condition(*carry, *constants):
            carry = body(*carry, *constants)
        return carry
    flat = _Flat(carry, constants)

    def more(*leaves: Tensor) -> Tensor:
        carry, constants = flat.whole(leaves)
        return condition(*carry, *constants)

    def turn(*leaves: Tensor) -> tuple[Tensor, ...]:
        carry, constants = flat.whole(leaves)
        return tuple(_without_aliases(pytree.tree_leaves(body(*carry, *constants))))

    carried, fixed = flat.leaves
    results = torch_private.while_loop(more, turn, carried, fixed)
    return pytree.tree_unflatten(results, flat.structures[0])


class _Flat:
    """Trees of tensors as one list of them, and back."""

    def __init__(self, *trees: Any) -> None:
        parts = [pytree.tree_flatten(tree) for tree in trees]
        self.leaves = [leaves for leaves, _ in parts]
        self.structures = [structure for _, structure in parts]

    def whole(self, leaves: Sequence[Tensor]) -> list[Any]:
        """The trees that `leaves` make."""
        trees, at = [], 0
        for part, structure in zip(self.leaves, self.structures, strict=True):
            trees.append(pytree.tree_unflatten(leaves[at : at + len(part)], structure))
            at += len(part)
        return trees


def in_layout_of(tensor: Tensor, like: Tensor) -> Tensor:
    """`tensor`, in a program also with the strides of `like`, of whose shape it is.

    Left to itself the compiler may lay out whatever is computed from it the other way round, and
    then goes through `like` number by number.
    """
    if not _tracing["on"]:
        return tensor
    return torch_private.with_strides_of(tensor, like)


def stored(tensor: Tensor) -> Tensor:
    """`tensor`, which a program computes once, before whatever reads it; under vmap too.

    Left to itself the compiler computes what is cheap anew wherever it is read: a vector that is
    multiplied with a matrix, once a row.
    """
    return _Stored.apply(tensor) if _tracing["on"] else tensor


class _Stored(torch.autograd.Function):
    """Gives a private operation, which knows no vmap, the rule that it needs for it."""

    @staticmethod
    def forward(tensor: Tensor) -> Tensor:
        return in_layout_of(tensor, tensor)

    @staticmethod
    def setup_context(context: Any, inputs: Any, output: Any) -> None:
        pass  # it has no backward: a learner's own computations are never differentiated

    @staticmethod
    def vmap(info: Any, dimensions: tuple[int | None], tensor: Tensor) -> tuple[Tensor, int | None]:
        return stored(tensor), dimensions[0]


def _length(inputs: Any) -> int:
    return pytree.tree_leaves(inputs)[0].shape[0]


def _at(inputs: Any, index: int) -> Any:
    return pytree.tree_map(lambda x: x[index], inputs)


def _without_aliases(outputs: list[Tensor]) -> list[Tensor]:
    # The compiled loop refuses outputs that share memory with its inputs or each other.
    return [output.clone() for output in outputs]


def stacked(outputs: Sequence[Any]) -> Any:
    """Trees of tensors of one structure, stacked along a new first axis."""
    return pytree.tree_map(lambda *leaves: torch.stack(leaves), *outputs)
