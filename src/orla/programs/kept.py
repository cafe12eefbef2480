"""Compiled programs: made by torch.export ahead of the first call, and kept on disk."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import os
import platform
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from orla import files
from orla.programs import machine, sources, store, torch_private
from orla.programs.scan import traced

Program = Callable[..., Any]

# Of a kept folder: the compiled program, and the structure of what it answers.
_PACKAGE, _STRUCTURE = "program.pt2", "structure.json"


def prepare() -> None:
    """Point the compiler's own cache into ours, unless the user names one that is safe."""
    named = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if not named or not store.safe(Path(named)):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(store.folder("inductor"))


def make(
    function: Callable[..., Any], arguments: tuple[Any, ...], path: Path | None
) -> tuple[Program, bool]:
    """`function` compiled for arguments of exactly these shapes, which a call does not check.

    Args:
        function: Pure but for changes in place of what it is given; its loops those of `scan`.
        arguments: Trees of tensors.
        path: Where to keep the program, a folder; None keeps it nowhere.

    Returns:
        The program, and whether it is kept.
    """
    leaves = tuple(pytree.tree_leaves(arguments))
    with store.scratch(path) as scratch, torch.no_grad():
        graph, structure = traced(function, arguments)
        try:
            package(graph, leaves, scratch / _PACKAGE)
        except RuntimeError:  # the compiler's own faults in fusing what is changed in place
            graph, structure = traced(function, arguments, in_place=False)
            package(graph, leaves, scratch / _PACKAGE)
        (scratch / _STRUCTURE).write_text(pytree.treespec_dumps(structure))
        program = _opened(scratch)
        return program, path is not None and store.keep(scratch, path)


def package(graph: torch.fx.GraphModule, leaves: tuple[torch.Tensor, ...], file: Path) -> None:
    """Compile a graph of tensors ahead of its calls into one file."""
    with warnings.catch_warnings(), torch_private.quiet():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own, about its own
        exported = torch.export.export(graph, leaves)
        options = {"cpp.threads": 1, "compile_threads": 1}
        if march := machine.march(instruction_set()[0]):
            options["cpp.march"] = march
        torch._inductor.aoti_compile_and_package(
            exported, package_path=str(file), inductor_configs=options
        )


def _opened(folder: Path) -> Program:
    run = torch_private.open_package(folder / _PACKAGE)
    structure = pytree.treespec_loads((folder / _STRUCTURE).read_text())

    def program(*arguments: Any) -> Any:
        return pytree.tree_unflatten(run(pytree.tree_leaves(arguments)), structure)

    return program


def load(path: Path) -> Program | None:
    """The program kept at `path`; None where there is none that can be used."""
    return store.loaded(path, _opened)


def path(what: str, shapes: Any, made_of: Sequence[Any]) -> Path | None:
    """Where the program of that description is kept, on a machine like this one.

    Args:
        what: What it computes, in words.
        shapes: Of its arguments.
        made_of: As for `compiling.Compiled`.

    Returns:
        None where something cannot be described; such a program is kept nowhere.
    """
    try:
        parts = [_described(thing) for thing in made_of]
    except (TypeError, OSError, RecursionError):
        return None
    described = "\n".join([what, repr(shapes), *parts, sources.digest(), here()])
    name = hashlib.sha256(described.encode()).hexdigest()[:32]
    return store.folder("programs") / f"{name}.program"


def _described(thing: Any) -> str:
    """What `thing` is, its code included; the same in every process.

    Raises TypeError for something whose value no text tells.
    """
    if thing is None or isinstance(thing, (str, int, float, bool)):
        return repr(thing)
    if isinstance(thing, (list, tuple)):
        return f"[{', '.join(map(_described, thing))}]"
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return _with_parts(type(thing), [getattr(thing, f.name) for f in dataclasses.fields(thing)])
    if inspect.isfunction(thing):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        by_keyword = sorted((thing.__kwdefaults__ or {}).items())
        return _with_parts(thing, [*cells, *(thing.__defaults__ or ()), *by_keyword])
    if hasattr(thing, "__dict__") and not isinstance(thing, (type, torch.Tensor)):
        return _with_parts(type(thing), sorted(vars(thing).items()))
    raise TypeError(f"{thing!r} cannot be described")


def _with_parts(code: Any, parts: Sequence[Any]) -> str:
    return f"{_code(code)}({', '.join(map(_described, parts))})"


@functools.cache
def _code(thing: Any) -> str:
    """Name of a class or function, and a hash of the file that it stands in."""
    return f"{thing.__module__}.{thing.__qualname__}@{files.sha256(inspect.getfile(thing))}"


def here() -> str:
    """Versions, the processor, and the instruction set that was asked for."""
    return "\n".join([*store.versions(), platform.platform(), processor(), *instruction_set()])


def instruction_set() -> tuple[str, str]:
    """What ATEN_CPU_CAPABILITY asks for, which the compiler heeds, and what PyTorch itself uses."""
    asked = os.environ.get("ATEN_CPU_CAPABILITY", "")
    return asked.lower(), torch.backends.cpu.get_cpu_capability()


@functools.cache
def processor() -> str:
    """Name and instruction sets: a program made on one processor may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.processor()} {torch.backends.cpu.get_cpu_capability()}"
    return "\n".join(
        sorted({x for x in lines if x.startswith(("model name", "flags", "Features"))})
    )
