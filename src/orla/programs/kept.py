"""Compiled programs: made by torch.compile ahead of the first call, and kept on disk."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from orla import files
from orla.programs.scan import traced

Program = Callable[..., Any]

# Stands beside a program's files, in a folder of their own, and tells whether they are whole.
_SUMS = "SHA256SUMS"


def folder() -> Path:
    """Where programs are kept: ORLA_CACHE, or ~/.cache/orla."""
    return Path(os.environ.get("ORLA_CACHE") or Path.home() / ".cache" / "orla")


@functools.cache
def prepare() -> None:
    """Point the compiler at `folder`."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder() / "inductor"))


@functools.cache
def _set_up() -> None:
    import torch._inductor.config as inductor

    prepare()
    inductor.cpp.threads = 1
    inductor.compile_threads = 1
    if _compiles_all_instruction_sets():
        # The compiler would try one after the other with all of PyTorch's headers, for ten seconds.
        inductor.cpp.vec_isa_ok = True


def _compiles_all_instruction_sets() -> bool:
    """Whether g++ or its like knows all of this processor's instruction sets: tried at once."""
    from torch._inductor import cpp_builder, cpu_vec_isa

    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    has = cpu_vec_isa.x86_isa_checker()
    known = cpu_vec_isa.supported_vec_isa_list
    flags = " ".join(
        isa.build_arch_flags() for isa in known if all(flag in has for flag in str(isa).split())
    )
    command = [cpp_builder.get_cpp_compiler(), *flags.split(), "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input="", text=True, capture_output=True).returncode == 0


def make(
    function: Callable[..., Any], arguments: tuple[Any, ...], path: Path | None
) -> tuple[Program, bool]:
    """`function` compiled for arguments of exactly these shapes, which a call does not check.

    Args:
        function: Pure but for changes in place of what it is given; its loops those of `loops`.
        arguments: Trees of tensors.
        path: Where to keep the program, a folder; None keeps it nowhere.

    Returns:
        The program, and whether it is kept.
    """
    _set_up()
    graph = traced(function, arguments)
    scratch = _scratch_folder(path)
    try:
        _compile(graph, pytree.tree_leaves(arguments), scratch)
        kept = path is not None and _keep(scratch, path)
        return _opened(path if kept else scratch), kept
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # a loaded library needs its file no more


def _scratch_folder(path: Path | None) -> Path:
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=f".{path.stem}.", dir=path.parent))
        except OSError:
            pass
    return Path(tempfile.mkdtemp(prefix="orla-"))


def _compile(graph: GraphModule, leaves: list[torch.Tensor], folder: Path) -> None:
    from torch._inductor import aot_compile

    options = {"aot_inductor.output_path": str(folder)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own, about its own
        library = Path(aot_compile(graph, tuple(leaves), options=options))
    for file in folder.iterdir():
        # Beside the library, what it is told about operators from elsewhere.
        if file not in (library, library.with_suffix(".json")):
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def _opened(folder: Path) -> Program:
    runner = torch._C._aoti.AOTIModelContainerRunnerCpu(str(_library(folder)), 1)
    structure = pytree.treespec_loads(runner.get_call_spec()[1])

    def program(*arguments: Any) -> Any:
        return pytree.tree_unflatten(runner.run(pytree.tree_leaves(arguments)), structure)

    return program


def _library(folder: Path) -> Path:
    return next(folder.glob("*.so"))


def _keep(made: Path, path: Path) -> bool:
    try:
        (made / _SUMS).write_text(_sums(made))
        if not _whole(path):
            shutil.rmtree(path, ignore_errors=True)
            os.rename(made, path)
    except OSError:
        # A full or read-only disk: the program at hand serves this process all the same.
        return False
    return True


def _sums(folder: Path) -> str:
    files_ = sorted(file for file in folder.iterdir() if file.name != _SUMS)
    return "".join(f"{files.sha256(file)}  {file.name}\n" for file in files_)


def _whole(folder: Path) -> bool:
    # A library that was cut off is not refused when it is loaded: it ends the process.
    sums = folder / _SUMS
    return sums.is_file() and sums.read_text() == _sums(folder)


def load(path: Path) -> Program | None:
    """The program kept at `path`; None where there is none that can be used."""
    try:
        return _opened(path) if _whole(path) else None
    except (OSError, RuntimeError, ValueError):
        # Unreadable, or of another version: whatever it is, compiling again mends it.
        return None


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
    except (_CannotDescribe, OSError, RecursionError):
        return None
    return _named("\n".join([what, repr(shapes), *parts, _here()]), ".program")


def _named(described: str, suffix: str) -> Path:
    name = hashlib.sha256(described.encode()).hexdigest()[:32]
    return folder() / "programs" / (name + suffix)


class _CannotDescribe(Exception):
    """Something whose value no text tells."""


def _described(thing: Any) -> str:
    """What `thing` is, its code included; the same in every process."""
    if thing is None or isinstance(thing, (str, int, float, bool)):
        return repr(thing)
    if isinstance(thing, (list, tuple)):
        return f"[{', '.join(map(_described, thing))}]"
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return _with_parts(type(thing), [getattr(thing, f.name) for f in dataclasses.fields(thing)])
    if inspect.isfunction(thing):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return _with_parts(thing, [*cells, *(thing.__defaults__ or ())])
    if hasattr(thing, "__dict__") and not isinstance(thing, (type, torch.Tensor)):
        return _with_parts(type(thing), sorted(vars(thing).items()))
    raise _CannotDescribe(repr(thing))


def _with_parts(code: Any, parts: Sequence[Any]) -> str:
    return f"{_code(code)}({', '.join(map(_described, parts))})"


@functools.cache
def _code(thing: Any) -> str:
    """Name of a class or function, and a hash of the file that it stands in."""
    try:
        source = inspect.getfile(thing)
    except TypeError:
        raise _CannotDescribe(repr(thing)) from None
    return f"{thing.__module__}.{thing.__qualname__}@{files.sha256(source)}"


@functools.cache
def _here() -> str:
    """This package's engine, the compiler's version and the processor that it compiles for."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    versions = (torch.__version__, platform.python_version(), platform.platform())
    return "\n".join([*map(files.sha256, sources), *versions, processor()])


def processor() -> str:
    """Name and instruction sets: a program made on one processor may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.processor()} {torch.backends.cpu.get_cpu_capability()}"
    return "\n".join(
        sorted({x for x in lines if x.startswith(("model name", "flags", "Features"))})
    )
