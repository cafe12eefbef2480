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
        self._met = [_Met() for _ in held]
        before = [inside._version for inside in held]
        self._replay, self._outputs = _recorded(function, self._inputs)
        self._changed = [
            inside._version > version for inside, version in zip(held, before, strict=True)
        ]

    def __call__(self, *arguments: Any) -> Any:
        held, given = pytree.tree_leaves(self._inputs), pytree.tree_leaves(arguments)
        for inside, outside, met in zip(held, given, self._met, strict=True):
            if not met.as_it_is(outside):
                inside.copy_(outside)
        self._replay()
        for inside, outside, changed in zip(held, given, self._changed, strict=True):
            if changed:
                outside.copy_(inside)
        self._met = [_Met(outside) for outside in given]
        # The next replay writes where this one did.
        return pytree.tree_map(torch.clone, self._outputs)


class _Met:
    """Identity and version of the last call's argument: unchanged means no copy.

    The version counts PyTorch's own changes, not what foreign code writes to a tensor's address.
    Exact RTRL's sensitivities are large and change once in many calls.
    """

    def __init__(self, tensor: torch.Tensor | None = None) -> None:
        # A weak reference, so that the next batch of models can have its memory.
        self._tensor = None if tensor is None else weakref.ref(tensor)
        self._version = None if tensor is None else tensor._version

    def as_it_is(self, tensor: torch.Tensor) -> bool:
        return (
            self._tensor is not None
            and self._tensor() is tensor
            and self._version == tensor._version
        )


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
