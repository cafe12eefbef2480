"""Compilation of the hot loops: kept on disk, announced, and optional."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.errors import OrlaError
from orla.programs import packages as programs
from orla.programs.store import lock_on, say
from orla.programs.traced_loops import TracedLoops
from orla.programs.tracing import layout_of
from orla.provenance import cost

_settings: dict[str, Any] = {"enabled": False, "condition": None}


def configure(*, compile: bool = True, threads: int = 1, device: str = "cpu") -> torch.device:
    """Set threads and compilation for this process and return the device, which must exist.

    On a CUDA device, and without a C++ compiler, the same code runs eagerly; the latter is said
    once.
    """
    torch.set_num_threads(threads)
    on_cuda = device.startswith("cuda")
    if on_cuda and not torch.cuda.is_available():
        raise OrlaError(
            f"compute.device is {device!r} but PyTorch sees no CUDA device; set it to 'cpu'"
        )
    compile = compile and not on_cuda
    if compile:
        programs.set_compiler_cache()
    _settings["enabled"] = compile and _has_compiler()
    return torch.device(device)


def enabled() -> bool:
    """Whether this process compiles."""
    return _settings["enabled"]


@contextmanager
def compile_only(condition: Callable[[Path], bool]) -> Iterator[None]:
    """In this block compile only programs whose paths meet the condition; others run eagerly."""
    _settings["condition"] = condition
    try:
        yield
    finally:
        _settings["condition"] = None


@functools.cache
def _has_compiler() -> bool:
    """Whether there is a C++ compiler; if not, say so once."""
    if cpp_compiler():
        return True
    say("no C++ compiler found: the loops run uncompiled, many times slower (install g++)")
    return False


def cpp_compiler() -> str | None:
    """The C++ compiler that PyTorch takes; None where there is none."""
    usual = "clang++" if sys.platform == "darwin" else "g++"
    return shutil.which(os.environ.get("CXX", usual))


class Compiled:
    """A function of tensors (in dicts, tuples, lists), compiled once a shape; pure but for
    changes in place of what it is given.

    `what` names it in messages. `key_parts` are what decides what it computes beside its arguments
    and this package's code (dataclasses, functions, numbers): programs are kept on disk by it; with
    None they last as long as the process.
    """

    def __init__(
        self, function: Callable[..., Any], what: str, key_parts: Sequence[Any] | None = None
    ) -> None:
        self.function, self.what, self.key_parts = function, what, key_parts
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._traced_loops: defaultdict[Any, TracedLoops] = defaultdict(TracedLoops)

    def __call__(self, *arguments: Any) -> Any:
        return self.program(*arguments)(*arguments)

    def program(self, *arguments: Any) -> Callable[..., Any]:
        """The compiled program for arguments of these shapes, which it does not check.

        Where compilation is off, the function itself, whose loops are traced in time.
        """
        if not enabled():
            return self._run_uncompiled
        shapes = _argument_layouts(arguments)
        if shapes not in self._programs:
            with cost.phase("compiling"):
                usual = pytree.tree_map(_normalize_size_one_strides, arguments)
                self._programs[shapes] = self._load_or_make(_argument_layouts(usual), usual)
        return self._programs[shapes]

    def _run_uncompiled(self, *arguments: Any) -> Any:
        with self._traced_loops[_argument_layouts(arguments)].call():
            return self.function(*arguments)

    def _load_or_make(self, shapes: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The program from disk, or compiled now; `function` where a condition forbids it."""
        start, parts = time.perf_counter(), self.key_parts
        path = None if parts is None else programs.program_cache_path(self.what, shapes, parts)
        if (condition := _settings["condition"]) and not (path and condition(path)):
            return self._run_uncompiled
        with lock_on(path):
            if path and (program := programs.load_program(path)):
                say(f"{self.what}: compiled before, loaded in {time.perf_counter() - start:.1f} s")
                return program
            program, on_disk = programs.compile_and_keep(self.function, arguments, path)
        cost.count_program()
        where = f"; kept in {path.parent}" if on_disk else ""
        say(f"{self.what}: compiled in {time.perf_counter() - start:.1f} s{where}")
        return program


def _argument_layouts(arguments: tuple[Any, ...]) -> Any:
    """Shapes, strides, types and devices of the tensors, and the structure that holds them."""
    leaves, structure = pytree.tree_flatten(arguments)
    return tuple(map(layout_of, leaves)), str(structure)


def _normalize_size_one_strides(tensor: Tensor) -> Tensor:
    """The same tensor; contiguous, an axis of one entry has the stride that it has when made.

    It is no number's place, but would make another program of the same loop.
    """
    if not tensor.is_contiguous():
        return tensor
    return tensor.as_strided(tensor.shape, torch.empty(tensor.shape, device="meta").stride())
