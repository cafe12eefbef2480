"""Exact RTRL's products on a CPU, in C++: compiled once a machine, and an operator of PyTorch.

What they compute, PyTorch computes as well (`blocks.PulledBlocks`), in five times as many passes.
The source includes nothing of PyTorch, so a plain call of the C++ compiler builds it;
docs/engine.md says why not torch.utils.cpp_extension.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orla.programs import compiling, machine, store
from orla.programs import packages as programs

_SOURCE = Path(__file__).with_suffix(".cpp")
_NAME = "kernels.so"
_SLOT_NAMES = ("W_hh", "on_gates", "around", "inputs")
_PRECISIONS = {torch.float64: "float64", torch.float32: "float32"}


def can_serve(example: Tensor) -> bool:
    """Whether the kernels serve tensors like this one: on a CPU, where they can be compiled."""
    fits = example.device.type == "cpu" and example.dtype in _PRECISIONS
    return fits and compiling.enabled() and _library() is not None


# The flags of PyTorch's compiler for its own loops, and two more: products are fused into sums, and
# loops are vectorized.
_FLAGS = [
    *("-std=c++20", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-fno-omit-frame-pointer"),
    *("-fno-trapping-math", "-fno-signed-zeros", "-fmath-errno", "-fexcess-precision=fast"),
    *("-Wno-unknown-pragmas", "-ffp-contract=fast", "-ftree-loop-vectorize"),
]


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The kernels, loaded, and compiled where they are not kept; None where that fails."""
    start, path = time.perf_counter(), library_cache_path()
    with store.lock_on(path):
        library = store.load_or_discard(path, _open_library) or _compile_and_keep(path)
    if library and (seconds := time.perf_counter() - start) > 0.2:
        store.say(f"exact RTRL's kernels: compiled in {seconds:.1f} s")
    return library


def _compiler_command() -> list[str]:
    march = machine.march_value(programs.instruction_set()[0]) or "native"
    return [str(compiling.cpp_compiler()), *_FLAGS, f"-march={march}"]


def library_cache_path() -> Path:
    """Where the library is kept, for a machine and versions like these."""
    key = [_SOURCE.read_text(), *_compiler_command(), programs.machine_identity()]
    return store.path_of_key("kernels", key)


def _open_library(folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(folder / _NAME))


def _compile_and_keep(path: Path) -> ctypes.CDLL | None:
    """The library, compiled and kept at `path`; None, which is said, where that fails."""
    try:
        with store.scratch(path) as scratch:
            # A compiler without OpenMP makes kernels of one thread.
            for openmp in (["-fopenmp"], []):
                command = [*_compiler_command(), *openmp, "-o", str(scratch / _NAME), str(_SOURCE)]
                process = subprocess.run(command, capture_output=True, text=True)
                if process.returncode == 0:
                    library = _open_library(scratch)
                    store.keep(scratch, path)
                    return library
        fault = " ".join(process.stderr.split())[:300]
    except OSError as error:
        fault = str(error)
    store.say(
        f"exact RTRL's kernels cannot be compiled ({fault}): PyTorch's operations are used instead,"
        " more slowly"
    )
    return None


@functools.cache
def _block_sizes(W_hh: torch.Size, state: int, inputs: int, threads: int) -> Any:
    """The sizes of a block, as the kernels read them: C's struct Shape."""
    steps, models, gates, units = W_hh
    sizes = models, steps, units, state // units, gates // units, inputs, threads
    return (ctypes.c_int64 * len(sizes))(*sizes)


@functools.cache
def _expected_shapes(W_hh: torch.Size, state: int, inputs: int) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor that the kernels take, by its name."""
    steps, models, gates, units = W_hh
    blocks = state // units
    return {
        "P": (models, state, gates, inputs),
        "W_hh": (steps, models, gates, units),
        "on_gates": (steps, models, blocks, gates),
        "around": (steps, models, blocks, state),
        "inputs": (steps, models, inputs),
        "stored": (),
        "cotangent": (models, state),
        "gradient": (models, gates, inputs),
    }


@functools.cache
def _kernel_function(name: str, dtype: torch.dtype, tensors: int) -> Any:
    """The C function of a kernel for a precision, which takes so many tensors."""
    function = getattr(_library(), f"{name}_{_PRECISIONS[dtype]}")
    function.argtypes = [ctypes.c_void_p] * (tensors + 1)
    return function


def _call_kernel(kernel: str, **tensors: Tensor) -> None:
    """Run a kernel; refuse (ValueError) what is not the plain memory that it takes it for."""
    P, W_hh = tensors["P"], tensors["W_hh"]
    sizes = W_hh.shape, P.shape[1], P.shape[3]
    shapes = _expected_shapes(*sizes)
    for name, tensor in tensors.items():
        dtype = torch.int64 if name == "stored" else P.dtype
        fits = tensor.shape == shapes[name] and tensor.dtype is dtype and tensor.is_cpu
        if not (fits and tensor.is_contiguous()) or P.dtype not in _PRECISIONS:
            raise ValueError(
                f"exact RTRL's kernels: {name} is {tensor.dtype} of shape {tuple(tensor.shape)} and"
                f" strides {tensor.stride()} on {tensor.device}; give {dtype} of shape"
                f" {shapes[name]} on the CPU, contiguous"
            )
    addresses = [t.data_ptr() for t in tensors.values()]
    block = _block_sizes(*sizes, torch.get_num_threads())
    if _kernel_function(kernel, P.dtype, len(addresses))(block, *addresses):
        raise MemoryError("exact RTRL: no memory left for a block's steps")


_operators = torch.library.Library("orla", "DEF")
_operators.define(
    "block_gradient(Tensor P, Tensor W_hh, Tensor on_gates, Tensor around, Tensor inputs,"
    " Tensor stored, Tensor cotangent) -> Tensor"
)


def _block_gradient(P: Tensor, *slots: Tensor) -> Tensor:
    arguments = dict(zip((*_SLOT_NAMES, "stored", "cotangent"), slots, strict=True))
    arguments["cotangent"] = arguments["cotangent"].contiguous()
    gradient = P.new_empty(P[:, 0].shape)
    _call_kernel("gradient", P=P, **arguments, gradient=gradient)
    return gradient


_operators.impl("block_gradient", _block_gradient, "CPU")
torch.library.register_fake("orla::block_gradient", lambda P, *others: P.new_empty(P[:, 0].shape))


def block_gradient(
    sensitivity: Tensor, slots: dict[str, Tensor], stored_count: Tensor, cotangent: Tensor
) -> Tensor:
    """c P at the latest of `stored_count` steps since P: (models, gates, inputs).

    `sensitivity` is P at the block's start; the slots hold steps, newest first from the end, of
    which the last `stored_count` are filled. `_expected_shapes` has the shapes.
    """
    return torch.ops.orla.block_gradient(
        sensitivity, *(slots[name] for name in _SLOT_NAMES), stored_count, cotangent
    )


def advance_sensitivity_over_block(sensitivity: Tensor, slots: dict[str, Tensor]) -> None:
    """Turn P at the start of a full block into P at its end, in place; arguments as above."""
    _call_kernel("rebuild", P=sensitivity, **{name: slots[name] for name in _SLOT_NAMES})
