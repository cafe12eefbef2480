"""The operations of a function, as one graph whose loops are operations too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from orla.programs import torch_private

# A loop's body: from a carry, an entry of the inputs and the constants to a carry and an output.
Body = Callable[..., tuple[Any, Any]]

# Whether a function is traced now, whether its loops change their state in place, and whether it is
# told how to lay out tensors in memory.
TRACING = {"on": False, "in place": True, "layouts": True}


def trace(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    in_place: bool = True,
    layouts: bool = True,
) -> tuple[GraphModule, pytree.TreeSpec]:
    """The graph of the tensor operations of `function`, and the structure of its answer.

    The graph leads from the arguments' leaves to the answer's, and has the loops as operations.
    Loops change their state in place, which is faster, or carry new tensors. `layouts` that only
    the compiler needs are left out where the operations run as they are. RuntimeError where the
    program reads what a loop in it changes in place, or a loop's body closes over a tensor of it.
    """
    leaves, arguments_structure = pytree.tree_flatten(arguments)
    answer_structures: list[Any] = []

    def flat(*leaves: Tensor) -> list[Tensor]:
        answer = function(*pytree.tree_unflatten(leaves, arguments_structure))
        outputs, structure = pytree.tree_flatten(answer)
        answer_structures.append(structure)
        return outputs

    before = dict(TRACING)
    options = {"in place": in_place, "layouts": layouts}
    TRACING.update({"on": True} | {name: before[name] and value for name, value in options.items()})
    try:
        with torch.no_grad():  # else no loop may change anything in place
            graph = torch_private.graph_of(flat, leaves)
    finally:
        TRACING.update(before)
    _refuse_captured_tensors(graph)
    _refuse_reads_after_writes(graph)
    return graph, answer_structures[-1]


def held_tensors(graph: GraphModule) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors that the operations read and that are no arguments."""
    for part in graph.modules():
        for name, value in [*vars(part).items(), *part.named_buffers(recurse=False)]:
            if isinstance(value, Tensor):
                yield name, value


def _refuse_captured_tensors(graph: GraphModule) -> None:
    """Refuse (RuntimeError) a loop whose body uses a tensor of the program that it is part of."""
    for name, value in held_tensors(graph):
        if type(value).__name__ == "FakeTensor":
            raise RuntimeError(
                f"a loop's body uses a tensor of shape {tuple(value.shape)} ({name}) that it"
                " was not given: pass it in the loop's `constants`"
            )


def _refuse_reads_after_writes(graph: GraphModule) -> None:
    """Refuse (RuntimeError) reads of what a loop changes, and loops whose results nobody reads."""
    for node in graph.graph.nodes:
        if not (indices := node.kwargs.get("mutated_arg_indices")):
            continue
        if not any(result.users for result in node.users):
            raise RuntimeError("a program drops a loop that changes something: return its position")
        operands = [*node.args[2], *node.args[3]]
        for index in map(int, indices.split(",")):
            if any(user is not node and user.op != "output" for user in operands[index].users):
                raise RuntimeError(
                    "a program reads what a loop in it changes: let another program do that"
                )


def layout_of(tensor: Tensor) -> tuple[Any, ...]:
    """Shape, strides, type and device: what a program takes for granted of a tensor."""
    return tensor.shape, tensor.stride(), tensor.dtype, str(tensor.device)


def traced_body_and_output(
    body: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Callable[..., Any], Any]:
    """A loop's body as the operations that it carries out, and an example of what it answers.

    `torch.while_loop` reads the source of what it is given; so it is given nothing but these.
    """
    examples = pytree.tree_map(
        lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device),
        arguments,
    )
    graph, structure = trace(body, examples)
    answers = [node.meta["val"] for node in graph.graph.output_node().args[0]]

    def run(*arguments: Any) -> Any:
        return pytree.tree_unflatten(graph(*pytree.tree_leaves(arguments)), structure)

    return run, pytree.tree_unflatten(answers, structure)
