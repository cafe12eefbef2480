"""Compiled programs: made by torch.export ahead of the first call, and kept on disk."""

from __future__ import annotations

import dataclasses
import functools
import getpass
import inspect
import os
import platform
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from orla import files
from orla.programs import machine, sources, store, torch_private
from orla.programs.tracing import trace

Program = Callable[..., Any]

# Of a kept folder: the compiled program, and the structure of what it answers.
_PACKAGE, _STRUCTURE = "program.pt2", "structure.json"


def set_compiler_cache() -> None:
    """Point the compiler's own cache into ours, unless the user names one that is safe."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if not folder or not store.is_safe(Path(folder)):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(store.cache_folder("inductor"))


def _headers_are_safe() -> bool:
    """Whether PyTorch's precompiled headers, which are code, lie where the user alone can write."""
    folder, mend = default_inductor_folder(), "set TMPDIR to a folder of your own"
    parts = folder, folder / "precompiled_headers"
    return all(store.ensure_safe_folder(part, mend) for part in parts)


def default_inductor_folder() -> Path:
    """TorchInductor's default cache folder, in the folder of temporary files.

    Precompiled headers lie in it, and another user may have made it before.
    """
    try:
        name = getpass.getuser()
    except (KeyError, ModuleNotFoundError, OSError):
        name = f"uid_{os.getuid()}"
    return Path(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", name))


def compile_and_keep(
    function: Callable[..., Any], arguments: tuple[Any, ...], path: Path | None
) -> tuple[Program, bool]:
    """`function` compiled for arguments of these shapes alone; whether it is kept at `path`."""
    leaves = tuple(pytree.tree_leaves(arguments))
    with store.scratch(path) as scratch, torch.no_grad():
        graph, structure = trace(function, arguments)
        try:
            compile_to_file(graph, leaves, scratch / _PACKAGE)
        except RuntimeError:  # the compiler's own faults in fusing what is changed in place
            graph, structure = trace(function, arguments, in_place=False)
            compile_to_file(graph, leaves, scratch / _PACKAGE)
        (scratch / _STRUCTURE).write_text(pytree.treespec_dumps(structure))
        program = _open_program(scratch)
        return program, path is not None and store.keep(scratch, path)


def compile_to_file(
    graph: torch.fx.GraphModule, leaves: tuple[torch.Tensor, ...], file: Path
) -> None:
    """Compile a graph of tensors ahead of its calls into one file."""
    with warnings.catch_warnings(), torch_private.quiet_compiler():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own, about its own
        program = torch.export.export(graph, leaves)
        options = {"cpp.threads": 1, "compile_threads": 1}
        # The wrapper around the kernels takes most of the C++ compiler's time.
        options["aot_inductor.compile_wrapper_opt_level"] = "Og"
        options["aot_inductor.enable_line_tables"] = False
        options["aot_inductor.enable_frame_pointer"] = False
        options["cpp.vec_isa_ok"] = True  # as the processor says: six trial builds less
        options["aot_inductor.precompile_headers"] = _headers_are_safe()
        if march := machine.march_value(instruction_set()[0]):
            options["cpp.march"] = march
        torch._inductor.aoti_compile_and_package(
            program, package_path=str(file), inductor_configs=options
        )


def _open_program(folder: Path) -> Program:
    """The compiled program in a folder, as a function of trees of tensors."""
    run = torch_private.open_package(folder / _PACKAGE)
    structure = pytree.treespec_loads((folder / _STRUCTURE).read_text())

    def program(*arguments: Any) -> Any:
        return pytree.tree_unflatten(run(pytree.tree_leaves(arguments)), structure)

    return program


def load_program(path: Path) -> Program | None:
    """The program kept at `path`; None where there is none that can be used."""
    return store.load_or_discard(path, _open_program)


def program_cache_path(what: str, shapes: Any, key_parts: Sequence[Any]) -> Path | None:
    """The folder of the program of that description, for a machine like this one.

    None where something cannot be described.
    """
    try:
        parts = [_value_identity(part) for part in key_parts]
    except (TypeError, OSError, RecursionError):
        return None
    key = [what, repr(shapes), *parts, sources.digest(), machine_identity()]
    return store.path_of_key("programs", key, ".program")


def _value_identity(value: Any) -> str:
    """A text that identifies a value and its code, the same in every process; else TypeError."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value_identity, value))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, f.name) for f in dataclasses.fields(value)]
        return _identity_with_parts(type(value), parts)
    if inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        by_keyword = sorted((value.__kwdefaults__ or {}).items())
        return _identity_with_parts(value, [*cells, *(value.__defaults__ or ()), *by_keyword])
    if hasattr(value, "__dict__") and not isinstance(value, (type, torch.Tensor)):
        return _identity_with_parts(type(value), sorted(vars(value).items()))
    raise TypeError(f"{value!r} cannot be described")


def _identity_with_parts(code: Any, parts: Sequence[Any]) -> str:
    """The description of a class or function with that of the values that it holds."""
    return f"{_code_identity(code)}({', '.join(map(_value_identity, parts))})"


@functools.cache
def _code_identity(value: Any) -> str:
    """Name of a class or function, and a hash of the file that it stands in."""
    return f"{value.__module__}.{value.__qualname__}@{files.sha256(inspect.getfile(value))}"


def machine_identity() -> str:
    """Text of the versions, the processor and the instruction sets here, part of every key."""
    return "\n".join([*store.versions(), platform.platform(), cpu_and_flags(), *instruction_set()])


def instruction_set() -> tuple[str, str]:
    """What ATEN_CPU_CAPABILITY asks for, which the compiler heeds, and what PyTorch itself uses."""
    request = os.environ.get("ATEN_CPU_CAPABILITY", "")
    return request.lower(), torch.backends.cpu.get_cpu_capability()


@functools.cache
def cpu_and_flags() -> str:
    """The processor's name and instruction sets: a program made on one may fail on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.processor()} {torch.backends.cpu.get_cpu_capability()}"
    named = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join(sorted(named))
