"""Instruction set and threads of a process; imports neither PyTorch nor NumPy, whose libraries
choose their instructions as they are loaded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orla.errors import OrlaError

if TYPE_CHECKING:
    import torch

_VARIABLES = ("MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE")
# Instruction set as PyTorch names it -> flags of a processor that has it, values of the variables
# above, and the compiler's -march=.
_512 = {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}
_SETS: dict[str, tuple[set[str], tuple[str, ...], str]] = {
    "default": (set(), ("SSE4_2", "SSE41", "Nehalem"), "x86-64-v2"),
    "avx2": ({"avx2", "fma"}, ("AVX2", "AVX2", "Haswell"), "x86-64-v3"),
    "avx512": (_512, ("AVX512", "AVX512_CORE", "SkylakeX"), "x86-64-v4"),
}
_FLAGS = Path("/proc/cpuinfo")


def restrict_instructions(instructions: str | None) -> None:
    """Restrict the libraries that this process loads later to an instruction set; None: do not.

    One that the machine lacks is ignored: PyTorch would take it unchecked, and end the process.
    """
    flags, values, _ = _SETS.get(instructions, (set(), (), ""))
    if values and not (_FLAGS.exists() and flags - {*_FLAGS.read_text().split()}):
        os.environ["ATEN_CPU_CAPABILITY"] = instructions
        os.environ.update(zip(_VARIABLES, values, strict=True))


def march_value(instructions: str) -> str | None:
    """The C++ compiler's -march= for an instruction set; None for an unknown one."""
    return _SETS[instructions][2] if instructions in _SETS else None


def configure(compute: Mapping[str, Any], threads: int) -> torch.device:
    """Set this process's compilation, threads and device as `compute` says; the device."""
    from orla.programs import compiling

    device = compiling.configure(
        compile=compute["compile"], threads=threads, device=compute["device"]
    )
    refuse_unmet_numerics(compute)
    return device


def refuse_unmet_numerics(compute: Mapping[str, Any]) -> None:
    """Refuse (OrlaError) settings of a numeric configuration that this process lacks.

    To be called once compilation and threads are set; `compute` is `Plan.compute`. A config's own
    settings pass.
    """
    if "instructions" not in compute:
        return
    import torch

    from orla.programs import compiling

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else math.inf
    capability = torch.backends.cpu.get_cpu_capability().lower()
    instructions, threads = compute["instructions"], compute["threads"]
    available = min(torch.get_num_threads(), cores)
    if instructions and capability != instructions:
        fault = f"the instruction set {instructions}"
        mend = f"PyTorch uses {capability}; take another machine"
    elif threads != available:
        fault, mend = f"{threads} threads", f"this job has {available}; give it as many (--cores)"
    elif compute["compile"] != compiling.enabled():
        fault, mend = "compiled loops", "they run uncompiled; install g++"
    else:
        return
    raise OrlaError(f'config: "numerics" asks for {fault}, and here {mend}, or ask for less')
