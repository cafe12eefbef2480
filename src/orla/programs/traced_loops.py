"""Loops that run uncompiled: a body as it is written, then as the operations that it carries out.

A step under `torch.func.vmap` spends most of its time in vmap. Its operations, traced once and
carried out one after the other, give the same bits in less time.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.programs.tracing import TRACING, Body, held_tensors, layout_of, trace

# Steps as written before a body is traced: fewer take less time than tracing it does.
STEPS_AS_WRITTEN = 200
# First steps of a loop at which a traced body is looked for: tensors may come to a loop in another
# memory layout than its steps give them.
_FIRST_STEPS = 3

Leaves = list[Tensor]


class TracedBody(NamedTuple):
    """A body's operations: from the leaves of its arguments to those of the carry and output."""

    run: Callable[..., Leaves]
    output_structure: pytree.TreeSpec


@dataclass
class _Loop:
    """What is known of one loop of a program; None where its body cannot be traced."""

    steps: int = 0
    traced_bodies: dict[Any, TracedBody | None] = field(default_factory=dict)


class TracedLoops(defaultdict[int, _Loop]):
    """The loops of one function for arguments of one layout, by the order in which it runs them."""

    def __init__(self) -> None:
        super().__init__(_Loop)

    def call(self) -> AbstractContextManager[None]:
        """A block that is one call of the function: its loops, not those within, are traced."""
        return _activate(map(self.__getitem__, itertools.count()))


# The loops to come of the call that runs now, the last; None where none does, and within a body.
_active: list[Iterator[_Loop] | None] = [None]


@contextmanager
def _activate(loops: Iterator[_Loop] | None) -> Iterator[None]:
    _active.append(loops)
    try:
        yield
    finally:
        _active.pop()


def run_loop(
    body: Body, carry: Any, inputs: Any, constants: tuple[Any, ...], steps: range
) -> tuple[Any, Any]:
    """`carry, output = body(carry, entry, *constants)` over the entries `steps` of `inputs`.

    Answers the last carry, and the outputs, stacked.
    """
    loop = None if TRACING["on"] or _active[-1] is None else next(_active[-1])
    carry_leaves, carry_structure = pytree.tree_flatten(carry)
    input_leaves, input_structure = pytree.tree_flatten(inputs)
    constant_leaves = pytree.tree_leaves(constants)
    rows = [leaf.unbind(0) for leaf in input_leaves]
    outputs: list[Leaves] = []
    traced, output_structure = None, None
    for count, index in enumerate(steps):
        entry_leaves = [row[index] for row in rows]
        if traced is None:
            carry = pytree.tree_unflatten(carry_leaves, carry_structure)
            arguments = carry, pytree.tree_unflatten(entry_leaves, input_structure), constants
            if loop and count < _FIRST_STEPS:
                traced = _find_or_trace(loop, body, arguments, count)
        if traced:
            results = traced.run(*carry_leaves, *entry_leaves, *constant_leaves)
            output_structure = traced.output_structure
            carry_leaves, output = results[: len(carry_leaves)], results[len(carry_leaves) :]
        else:
            with _activate(None):
                new_carry, output = body(carry, arguments[1], *constants)
            carry_leaves = pytree.tree_leaves(in_key_order_of(carry, new_carry))
            output, output_structure = pytree.tree_flatten(output)
        outputs.append(output)
    if loop and traced is None:
        loop.steps += len(outputs)
    stacked = [torch.stack(leaves) for leaves in zip(*outputs, strict=True)]
    last = pytree.tree_unflatten(carry_leaves, carry_structure)
    return last, pytree.tree_unflatten(stacked, output_structure)


def in_key_order_of(reference: Any, mapping: Any) -> Any:
    """`mapping` with the entries of its mappings in the order of those of `reference`."""
    return pytree.tree_map(lambda _, new: new, reference, mapping)


def _find_or_trace(
    loop: _Loop, body: Body, trees: tuple[Any, ...], steps: int
) -> TracedBody | None:
    """The traced body for arguments of this structure and layout; made after enough steps."""
    leaves, structure = pytree.tree_flatten(trees)
    key = structure, tuple(map(layout_of, leaves))
    if key not in loop.traced_bodies and loop.steps + steps >= STEPS_AS_WRITTEN:
        loop.traced_bodies[key] = _trace_body(body, trees)
    return loop.traced_bodies.get(key)


def _trace_body(body: Body, trees: tuple[Any, ...]) -> TracedBody | None:
    """The body's operations; None where it is not the same at each step.

    That is so where its way depends on a number, where it holds a tensor that is none of its
    arguments, and where the carry that it answers has another layout than the one before.
    """

    def in_order(carry: Any, entry: Any, constants: tuple[Any, ...]) -> tuple[Any, Any]:
        new_carry, output = body(carry, entry, *constants)
        return in_key_order_of(carry, new_carry), output

    try:
        graph, structure = trace(in_order, trees, layouts=False)
    except Exception:  # whatever the author of a part does that PyTorch cannot trace
        return None
    answers = [node.meta["val"] for node in graph.graph.output_node().args[0]]
    carry = pytree.tree_leaves(trees[0])
    same_layout = list(map(layout_of, answers[: len(carry)])) == list(map(layout_of, carry))
    if not same_layout or any(held_tensors(graph)):
        return None
    _, output = pytree.tree_unflatten(answers, structure)
    return TracedBody(graph.forward, pytree.tree_structure(output))
