"""What a process is held to of the machine: its instruction set and threads.

Nothing here loads PyTorch or NumPy, whose libraries choose their instructions as they are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orla.errors import OrlaError

_VARIABLES = ("MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE")
# Instruction set as PyTorch names it -> flags of a processor that has it, values of the variables
# above, and the architecture that compilers make code for.
_SETS: dict[str, tuple[set[str], tuple[str, str, str], str]] = {
    "default": (set(), ("SSE4_2", "SSE41", "Nehalem"), "x86-64-v2"),
    "avx2": ({"avx2", "fma"}, ("AVX2", "AVX2", "Haswell"), "x86-64-v3"),
    "avx512": (
        {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")},
        ("AVX512", "AVX512_CORE", "SkylakeX"),
        "x86-64-v4",
    ),
}
_FLAGS = Path("/proc/cpuinfo")


def ask(instructions: str | None) -> None:
    """Hold what this process loads later to an instruction set that the machine has; None to none.

    PyTorch takes another one unchecked, and ends the process at the first such instruction.
    """
    if instructions and _SETS[instructions][0] <= _flags(instructions):
        os.environ["ATEN_CPU_CAPABILITY"] = instructions
        os.environ.update(zip(_VARIABLES, _SETS[instructions][1], strict=True))


def _flags(instructions: str) -> set[str]:
    try:
        return {*_FLAGS.read_text().split()}
    except OSError:
        return _SETS[instructions][0]


def march(instructions: str) -> str | None:
    """What the C++ compiler is told after -march= for an instruction set; None for no other."""
    return _SETS[instructions][2] if instructions in _SETS else None


def require(compute: Mapping[str, Any]) -> None:
    """Refuse settings of a numeric configuration (`Plan.compute`) that this process does not keep.

    It is to be called when compilation and threads are set; a config's own settings pass.

    Raises:
        OrlaError: The instruction set, the threads or the compilation are others.
    """
    if "instructions" not in compute:
        return
    import torch

    from orla.programs import compiling

    asked, threads = compute["instructions"], compute["threads"]
    used = torch.backends.cpu.get_cpu_capability().lower()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if asked and used != asked:
        raise OrlaError(
            f'config: "numerics" asks for the instruction set {asked}, and PyTorch uses {used} '
            "here; run it on a machine that has it, or take it out"
        )
    if threads != torch.get_num_threads() or threads > cores:
        raise OrlaError(
            f'config: "numerics" asks for {threads} threads, and this job has '
            f"{min(cores, torch.get_num_threads())}; give it as many (--cores), or ask for fewer"
        )
    if compute["compile"] != compiling.enabled():
        raise OrlaError(
            'config: "numerics" asks for compiled loops, and they run uncompiled here; install '
            "g++, or set compile: false"
        )
