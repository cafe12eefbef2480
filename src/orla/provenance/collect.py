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

    It can be written as JSON. The code has the `source_digests` of `roots`, and is dirty too where
    git has another state of a file of these, or none; versions are also those of `packages`. Where
    the process has loaded PyTorch, also the instruction set and threads that it uses.
    """
    code = commit_state()
    for file in (root for root in roots if isinstance(root, Path)):
        if not code["dirty"] and git_output(file.parent, "status", "--porcelain", "--", file.name):
            code["dirty"] = True
    versions = {"python": platform.python_version()}
    for package in (*_PACKAGES, *packages):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    source = {"code": code | {"files": source_digests(*roots)}, "versions": versions}
    source["platform"] = platform.platform()
    if torch := sys.modules.get("torch"):  # a job without it does not wait for its import
        source["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        source["threads"] = torch.get_num_threads()
    return source | extra


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
        how = {"check": True, "capture_output": True, "text": True, "timeout": 30}
        return subprocess.run(["git", "-C", str(folder), *arguments], **how).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
