"""On a CUDA device: a stretch of the loop recorded once, then launched as a whole."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Runs before the recording, in which libraries set up what they may not while it lasts.
_WARM_UP = 3


class Graphed:
    """A function of CUDA tensors (in dicts, tuples, lists), recorded as a CUDA graph.

    A tiny network's step is some dozens of kernels of a few microseconds; launched one by one, the
    launches cost more than the kernels. A graph launches all kernels of all its steps at once.

    The graph has inputs of its own. An argument is copied there unless it is the one of the call
    before and was not changed since.

    Args:
        function: What is recorded; it may change its arguments, and must look at no value of a
            tensor on the device. Those of tensors on the CPU are taken as they are now.
        arguments: Of the shapes that every call will have.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._inputs = pytree.tree_map(torch.clone, arguments)
        held = pytree.tree_leaves(self._inputs)
        # Of each argument of the last call a weak reference, so that the next batch of models can
        # have its memory, and its version, which counts PyTorch's own changes alone. Exact RTRL's
        # sensitivities are large and change once in many calls.
        self._met: list[tuple[Callable[[], Any], int]] = [(lambda: None, -1)] * len(held)
        before = [inside._version for inside in held]
        self._replay, self._outputs = _recorded(function, self._inputs)
        self._changed = [
            inside._version > version for inside, version in zip(held, before, strict=True)
        ]

    def __call__(self, *arguments: Any) -> Any:
        held, given = pytree.tree_leaves(self._inputs), pytree.tree_leaves(arguments)
        for inside, outside, (met, version) in zip(held, given, self._met, strict=True):
            if met() is not outside or version != outside._version:
                inside.copy_(outside)
        self._replay()
        for inside, outside, changed in zip(held, given, self._changed, strict=True):
            if changed:
                outside.copy_(inside)
        self._met = [(weakref.ref(outside), outside._version) for outside in given]
        # The next replay writes where this one did.
        return pytree.tree_map(torch.clone, self._outputs)


def _recorded(
    function: Callable[..., Any], inputs: tuple[Any, ...]
) -> tuple[Callable[[], None], Any]:
    with torch.cuda.device(pytree.tree_leaves(inputs)[0].device):
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UP):
                function(*inputs)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=aside):
            outputs = function(*inputs)
    return graph.replay, outputs
