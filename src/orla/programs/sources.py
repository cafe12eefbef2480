"""One digest of all source files that a result may depend on. Imports no PyTorch."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from orla import catalogue, files
from orla.catalogue import plugins

_SUFFIXES = (".py", ".cpp")


def digest() -> str:
    """SHA-256 over this package, the plug-in folders in use and the packages of entry points.

    Their Python and C++ files count, and what stands beside a module under its name (page.css). A
    file that changes later in the process is not seen.
    """
    return _digest_with_plugins(tuple(catalogue.plugin_folders()))


@functools.cache
def _digest_with_plugins(plugins: tuple[Path, ...]) -> str:
    roots = [Path(__file__).parents[1], *plugins, *_entry_point_paths()]
    sums = [
        f"{files.sha256(file)}  {file.relative_to(root)}"
        for root in roots
        for file in sorted(root.rglob("*") if root.is_dir() else [root])
        if (file.suffix in _SUFFIXES or file.with_suffix(".py").is_file()) and file.is_file()
    ]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def _entry_point_paths() -> Iterator[Path]:
    """The folders of the packages, or the single files, that the entry points name."""
    for point in entry_points(group=plugins.ENTRY_POINTS):
        spec = find_spec(point.module.partition(".")[0])
        if spec and spec.submodule_search_locations:
            yield from map(Path, spec.submodule_search_locations)
        elif spec and spec.origin:
            yield Path(spec.origin)
