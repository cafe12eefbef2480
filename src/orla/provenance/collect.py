"""Provenance of a result: code, versions, machine. No time, so that equal runs give equal bytes."""

import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from orla.provenance.code import source_digests

_PACKAGES = (
    "orla",
    "torch",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "statsmodels",
    "h5py",
    "pynwb",
)

_PROSE = (":(top,exclude)*.md", ":(top,exclude)docs")


def collect(*roots: str | Path, packages: Iterable[str] = (), **extra: Any) -> dict[str, Any]:
    """The provenance of a result: code, versions and machine of this process, and `extra`.

    It can be written as JSON; the code has the `source_digests` of `roots`, and the versions those
    of further `packages`. Where the process has loaded PyTorch, also the instruction set and
    threads that it uses.
    """
    return {
        "code": _code_state(roots) | {"files": source_digests(*roots)},
        "versions": {"python": platform.python_version()}
        | {p: _installed_version(p) for p in (*_PACKAGES, *packages)},
        "platform": platform.platform(),
        **_pytorch_settings(),
        **extra,
    }


def _code_state(roots: Iterable[str | Path]) -> dict[str, Any]:
    """`commit_state`; dirty too where git has another state of a file of `roots`, or none."""
    state = commit_state()
    files = [root for root in roots if isinstance(root, Path)]
    if not state["dirty"] and any(
        git_output(file.parent, "status", "--porcelain", "--", file.name) for file in files
    ):
        state |= {"dirty": True}
    return state


def _pytorch_settings() -> dict[str, Any]:
    """PyTorch's instruction set and threads; {} where the process has not loaded it."""
    # A job without it does not wait for its import.
    if (torch := sys.modules.get("torch")) is None:
        return {}
    capability = torch.backends.cpu.get_cpu_capability()
    return {"cpu_capability": capability, "threads": torch.get_num_threads()}


def commit_state(source: Path = Path(__file__)) -> dict[str, Any]:
    """The commit that `source` belongs to, and whether tracked files, prose apart, differ from it.

    "unknown" and None outside a checkout that tracks it.
    """
    folder = source.parent
    is_tracked = git_output(folder, "ls-files", "--error-unmatch", source.name) is not None
    commit = git_output(folder, "rev-parse", "HEAD") if is_tracked else None
    if commit is None:
        return {"commit": "unknown", "dirty": None}
    changes = git_output(folder, "status", "--porcelain", "-uno", "--", ":(top)", *_PROSE)
    return {"commit": commit, "dirty": bool(changes)}


def git_output(folder: Path, *arguments: str) -> str | None:
    """What git prints in a folder, without white space around it; None where it fails."""
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
