"""Compiled programs: made by torch.compile ahead of the first call, and kept on disk."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import os
import pickle
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from orla import files
from orla.errors import OrlaError

Program = Callable[..., Any]

# What a program is made from beside the objects it is named by: all code that it may have inlined.
_ENGINE = ("adapt.py", "compiling.py", "evaluation.py", "programs.py")
_ENGINE_FOLDERS = ("architectures", "learners", "optimizers", "probes")


def folder() -> Path:
    """Where programs are kept: ORLA_CACHE, or ~/.cache/orla."""
    return Path(os.environ.get("ORLA_CACHE") or Path.home() / ".cache" / "orla")


@functools.cache
def prepare() -> None:
    """Point the compiler at `folder` and fix what the numbers depend on."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder() / "inductor"))
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    dynamo.enable_aot_compile = True
    inductor.cpp_wrapper = True
    inductor.cpp.threads = 1
    inductor.compile_threads = 1
    if _tried().exists():
        inductor.cpp.vec_isa_ok = True


def _tried() -> Path:
    """Stands where the compiler was found to serve all of this processor's instruction sets.

    The compiler tries them in each process anew, which takes longer than to load a program.
    """
    return _named(_here(), ".instructions")


def _remember_instruction_sets() -> None:
    from torch._inductor import cpu_vec_isa

    if platform.machine() not in ("x86_64", "AMD64"):
        return
    has = cpu_vec_isa.x86_isa_checker()
    known = cpu_vec_isa.supported_vec_isa_list
    promised = [isa for isa in known if all(flag in has for flag in str(isa).split())]
    if len(promised) == len(cpu_vec_isa.valid_vec_isa_list()):
        with files.atomic(_tried()) as partial:
            partial.touch()


def make(
    function: Callable[..., Any], arguments: tuple[Any, ...], path: Path | None
) -> tuple[Program, bool]:
    """`function` compiled for arguments of exactly these shapes, which a call does not check.

    Args:
        function: Pure but for changes in place of what it is given.
        arguments: Trees of tensors.
        path: Where to keep the program; None keeps it nowhere.

    Returns:
        The program, and whether it is kept.
    """

    def plain(*arguments: Any) -> Any:  # a bound method would ask for its object again
        return function(*arguments)

    # A guard asks, at each call, whether the program still fits. Whoever calls one chose it by the
    # arguments' shapes; asking again would cost more than a step of exact RTRL computes.
    options = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    to_compile = torch.compile(plain, fullgraph=True, dynamic=False, options=options)
    made = to_compile.aot_compile((arguments, {}))
    return made.fn, path is not None and _keep(made, path)


def _keep(made: Any, path: Path) -> bool:
    try:
        with files.atomic(path) as partial:
            made.save_compiled_function(str(partial))
        _remember_instruction_sets()
    except (OSError, OrlaError, RuntimeError, pickle.PicklingError, TypeError, AttributeError):
        # A full or read-only disk, or an author's network holding something that no file can hold:
        # the program at hand serves this process all the same.
        return False
    return True


def load(path: Path) -> Program | None:
    """The program kept at `path`; None where there is none that can be used."""
    try:
        with path.open("rb") as file:
            return torch.compiler.load_compiled_function(file).fn
    except Exception:
        # Absent, cut off, of another version: whatever it is, compiling again mends it.
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
    package = Path(__file__).parent
    sources = [package / name for name in _ENGINE]
    for name in _ENGINE_FOLDERS:
        sources += sorted((package / name).rglob("*.py"))
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
