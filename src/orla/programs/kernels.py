"""Exact RTRL's products on a CPU, in C++: compiled once a machine, and an operator of PyTorch.

What they compute, PyTorch computes as well (`blocks.PulledBlocks`), in five times as many passes.
The source includes nothing of PyTorch, so a plain call of the C++ compiler builds it;
docs/engine.md says why not torch.utils.cpp_extension.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orla.programs import compiling, store, torch_private
from orla.programs import kept as programs

_SOURCE = Path(__file__).with_suffix(".cpp")
_NAME = "kernels.so"
_KEPT = ("W_hh", "on_gates", "around", "inputs")
_PRECISIONS = {torch.float64: "float64", torch.float32: "float32"}


def serve(example: Tensor) -> bool:
    """Whether the kernels serve tensors like this one: on a CPU, where they can be compiled."""
    fits = example.device.type == "cpu" and example.dtype in _PRECISIONS
    return fits and compiling.enabled() and _library() is not None


# What PyTorch's compiler gives to its own loops too, the last two apart: products are fused into
# sums, and the C++ compiler makes loops over whole vectors.
_FLAGS = [
    *("-std=c++20", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-fno-omit-frame-pointer"),
    *("-fno-trapping-math", "-fno-signed-zeros", "-fmath-errno", "-fexcess-precision=fast"),
    *("-Wno-unknown-pragmas", "-ffp-contract=fast", "-ftree-loop-vectorize"),
]
_INSTRUCTIONS = {"avx2": ["-mavx2", "-mfma"], "default": []}


@functools.cache
def _library() -> ctypes.CDLL | None:
    start = time.perf_counter()
    instructions = _INSTRUCTIONS.get(programs.instruction_set()[0], ["-march=native"])
    compiler = shutil.which(os.environ.get("CXX", "g++")) or torch_private.compiler()
    flags = [*_FLAGS, *instructions]
    made_of = [_SOURCE.read_text(), str(compiler), *flags, programs.here()]
    name = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:32]
    path = store.folder("kernels") / name
    with store.alone(path):
        library = store.loaded(path, _opened) or _compiled(compiler, flags, path)
    if library and (seconds := time.perf_counter() - start) > 0.2:
        store.say(f"exact RTRL's kernels: compiled in {seconds:.1f} s")
    return library


def _opened(folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(folder / _NAME))


def _compiled(compiler: str | None, flags: list[str], path: Path) -> ctypes.CDLL | None:
    try:
        with store.scratch(path) as scratch:
            # A compiler without OpenMP makes kernels of one thread.
            for openmp in (["-fopenmp"], []):
                command = [str(compiler), *flags, *openmp, "-o", str(scratch / _NAME), str(_SOURCE)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode == 0:
                    library = _opened(scratch)
                    store.keep(scratch, path)
                    return library
        said = " ".join(done.stderr.split())[:300]
    except OSError as error:
        said = str(error)
    store.say(
        f"exact RTRL's kernels cannot be compiled ({said}): PyTorch's operations are used instead,"
        " more slowly"
    )
    return None


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


def _block_gradient(P: Tensor, *others: Tensor) -> Tensor:
    *others, cotangent = others
    gradient = P.new_empty(P[:, 0].shape)
    _call("gradient", P, *others, cotangent.contiguous(), gradient)
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
