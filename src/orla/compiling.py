"""Compilation of the hot loops: cached on disk, announced, and optional."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from orla.errors import OrlaError

_settings: dict[str, Any] = {"enabled": True}


def configure(*, compile: bool = True, threads: int = 1, device: str = "cpu") -> torch.device:
    """Set threads and compilation for this process and return the device to compute on.

    Raises OrlaError when the device does not exist. Without a C++ compiler the same code runs
    eagerly, which is said once.
    """
    torch.set_num_threads(threads)
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise OrlaError(
            f"compute.device is {device!r} but PyTorch sees no CUDA device; set it to 'cpu'"
        )
    _settings["enabled"] = compile and _has_compiler()
    return torch.device(device)


@functools.cache
def _has_compiler() -> bool:
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        _say("no C++ compiler found: the loops run uncompiled, many times slower (install g++)")
        return False
    return True


@functools.cache
def _prepare_inductor() -> None:
    """Point the compiler's cache at one folder for all jobs and fix what the numbers depend on."""
    folder = Path(os.environ.get("ORLA_CACHE") or Path.home() / ".cache" / "orla")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor
    from torch._dynamo.callback import on_compile_end

    on_compile_end(_compilations.append)
    inductor.cpp_wrapper = True
    inductor.fx_graph_cache = True
    # Compiled loops are not cached unless asked for: a loop body is part of the cache's key all the
    # same, as every graph module is (test_compiling.py holds that to a changed body).
    inductor.unsafe_marked_cacheable_functions = {
        "torch.ops.higher_order.scan": "1",
        "torch.ops.higher_order.while_loop": "1",
    }
    inductor.cpp.threads = 1
    inductor.compile_threads = 1
    dynamo.cache_size_limit = 256
    dynamo.accumulated_cache_size_limit = 1024


def compiled(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """`function` compiled once a shape, or itself where compilation is off.

    Args:
        function: Pure function of tensors (in dicts, tuples, lists).
        what: What is announced as being compiled.
    """
    if not _settings["enabled"]:
        return function
    _prepare_inductor()
    program = torch.compile(function, fullgraph=True, dynamic=False)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        # Dynamo tells what it compiles; looking at the arguments' shapes would cost every call.
        before, start = len(_compilations), time.perf_counter()
        result = program(*arguments)
        if len(_compilations) > before:
            _say(
                f"{what}: compiled or loaded from the cache in {time.perf_counter() - start:.1f} s"
            )
        return result

    return call


_compilations: list[Any] = []


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]], carry: Any, inputs: Any, *, reverse: bool = False
) -> tuple[Any, Any]:
    """Loop `carry, output = body(carry, input)` over the first axis of `inputs`, outputs stacked.

    One compiled loop under torch.compile, a plain Python loop elsewhere. With `reverse` the last
    input comes first; outputs keep the inputs' order.
    """
    length = pytree.tree_leaves(inputs)[0].shape[0]
    if length > 1 and torch.compiler.is_compiling():
        from torch._higher_order_ops.scan import scan as compiled_scan

        return compiled_scan(_without_aliases(body), carry, inputs, reverse=reverse)
    outputs: list[Any] = []
    order = range(length - 1, -1, -1) if reverse else range(length)
    for index in order:
        carry, output = body(carry, pytree.tree_map(lambda x, at=index: x[at], inputs))
        outputs.append(output)
    return carry, stacked(outputs[::-1] if reverse else outputs)


def _without_aliases(body: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    # The compiled loop refuses outputs that share memory with its inputs or each other.
    def call(carry: Any, inputs: Any) -> tuple[Any, Any]:
        return pytree.tree_map(torch.clone, body(carry, inputs))

    return call


def stacked(outputs: Sequence[Any]) -> Any:
    """Trees of tensors of one structure, stacked along a new first axis."""
    return pytree.tree_map(lambda *leaves: torch.stack(leaves), *outputs)


def _say(message: str) -> None:
    print(f"orla: {message}", file=sys.stderr, flush=True)
