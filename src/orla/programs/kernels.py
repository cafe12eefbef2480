"""Exact RTRL's products on a CPU, in C++: compiled once a machine, and operators of PyTorch.

What they compute, PyTorch computes as well (`blocks.PulledBlocks`), in five times as many passes.
"""

from __future__ import annotations

import ctypes
import functools
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orla.programs import compiling
from orla.programs import kept as programs

_SOURCE = Path(__file__).with_suffix(".cpp")
_KEPT = ("W_hh", "on_gates", "around", "inputs")
_PRECISIONS = {torch.float64: "float64", torch.float32: "float32"}


def serve(example: Tensor) -> bool:
    """Whether the kernels serve tensors like this one: on a CPU, where they can be compiled."""
    fits = example.device.type == "cpu" and example.dtype in _PRECISIONS
    return fits and compiling.enabled() and _library() is not None


@functools.cache
def _library() -> ctypes.CDLL | None:
    from torch._inductor import cpp_builder
    from torch._inductor.codecache import CppCodeCache
    from torch._inductor.exc import CppCompileError

    programs.prepare()
    start = time.perf_counter()
    # The processor's name makes it another program on another machine that shares the folder.
    made_for = "".join(f"// {line}\n" for line in programs.processor().splitlines())
    source = made_for + _SOURCE.read_text()
    # PyTorch turns both off, since its own loops need neither; Clang knows but the first.
    flags = ["-ffp-contract=fast"] + ["-ftree-loop-vectorize"] * cpp_builder.is_gcc()
    try:
        library = CppCodeCache.load(source, extra_flags=flags, needs_vec_isa=False)
    except (CppCompileError, OSError):
        compiling.say("exact RTRL's kernels cannot be compiled: it runs without, more slowly")
        return None
    if (seconds := time.perf_counter() - start) > 0.2:
        compiling.say(f"exact RTRL's kernels: compiled in {seconds:.1f} s")
    return library


class _Shape(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("models", "steps", "units", "state_blocks", "gate_blocks", "inputs", "threads")
    ]


@functools.cache
def _shape(W_hh: torch.Size, state: int, inputs: int, threads: int) -> Any:
    steps, models, gates, units = W_hh
    shape = _Shape(models, steps, units, state // units, gates // units, inputs, threads)
    return ctypes.byref(shape)


@functools.cache
def _function(name: str, dtype: torch.dtype, tensors: int) -> Any:
    function = getattr(_library(), f"{name}_{_PRECISIONS[dtype]}")
    function.argtypes = [ctypes.c_void_p] * (tensors + 1)
    return function


def _call(name: str, P: Tensor, W_hh: Tensor, *tensors: Tensor) -> None:
    shape = _shape(W_hh.shape, P.shape[1], P.shape[3], torch.get_num_threads())
    tensors = (P, W_hh, *tensors)
    if not all(t.is_contiguous() for t in tensors):
        raise ValueError(
            "exact RTRL's kernels read tensors as they lie in memory: call contiguous()"
        )
    addresses = [t.data_ptr() for t in tensors]
    if _function(name, P.dtype, len(addresses))(shape, *addresses):
        raise MemoryError("exact RTRL: no memory left for a block's steps")


_operators = torch.library.Library("orla", "DEF")
_operators.define(
    "block_gradient(Tensor P, Tensor W_hh, Tensor on_gates, Tensor around, Tensor inputs,"
    " Tensor stored, Tensor cotangent) -> Tensor"
)


def _block_gradient(
    P: Tensor,
    W_hh: Tensor,
    on_gates: Tensor,
    around: Tensor,
    inputs: Tensor,
    stored: Tensor,
    cotangent: Tensor,
) -> Tensor:
    gradient = P.new_empty(P[:, 0].shape)
    cotangent = cotangent.contiguous()
    _call("gradient", P, W_hh, on_gates, around, inputs, stored, cotangent, gradient)
    return gradient


_operators.impl("block_gradient", _block_gradient, "CPU")
torch.library.register_fake("orla::block_gradient", lambda P, *others: P.new_empty(P[:, 0].shape))


def block_gradient(
    sensitivity: Tensor, slots: dict[str, Tensor], stored: Tensor, c: Tensor
) -> Tensor:
    """c P at the latest of `stored` steps since P: (models, gates, inputs).

    Args:
        sensitivity: P at the block's start (models, state, gates, inputs).
        slots: Steps, newest first from the end: W_hh (steps, models, gates, units), on_gates
            (steps, models, state blocks, gates), around (steps, models, state blocks, state) and
            inputs (steps, models, inputs).
        stored: How many of the slots are filled, the last ones.
        c: Cotangent on the state (models, state).

    Raises:
        ValueError: P or a slot is not contiguous.
    """
    return torch.ops.orla.block_gradient(sensitivity, *(slots[name] for name in _KEPT), stored, c)


def rebuild(sensitivity: Tensor, slots: dict[str, Tensor]) -> None:
    """Turn P at the start of a full block into P at its end, in place; arguments as above."""
    _call("rebuild", sensitivity, *(slots[name] for name in _KEPT))
