"""Importing plug-ins: what installed packages name as entry points, and the files of folders."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from orla.errors import OrlaError

ENTRY_POINTS = "orla.plugins"
# Begins the name of a module that was imported from a folder.
PREFIX = "orla_plugin_"


def import_plugins(folders: Sequence[Path]) -> bool:
    """Import what entry points name and the folders' files; whether there are any.

    Files that an underscore begins are left out. OrlaError where an import fails.
    """
    points = entry_points(group=ENTRY_POINTS)
    for point in points:
        with _refuse_failed_import(f"entry point {point.name} ({point.value})"):
            point.load()
    for folder in folders:
        for file in sorted(folder.glob("*.py")):
            if file.name.startswith("_"):
                continue
            # A name that is different for each file.
            digest = hashlib.sha256(str(file).encode()).hexdigest()[:12]
            module_name = f"{PREFIX}{digest}_" + re.sub(r"\W", "_", file.stem)
            if module_name in sys.modules:
                continue
            spec = importlib.util.spec_from_file_location(module_name, file)
            module = importlib.util.module_from_spec(spec)
            sys.modules[module_name] = module
            if str(folder) not in sys.path:
                sys.path.append(str(folder))  # for helper modules beside the parts
            try:
                with _refuse_failed_import(str(file)):
                    spec.loader.exec_module(module)
            except OrlaError:
                del sys.modules[module_name]
                raise
    return bool(points or folders)


@contextmanager
def _refuse_failed_import(place: str) -> Iterator[None]:
    """Turn any error of the block into an OrlaError that names `place`."""
    try:
        yield
    except Exception as error:
        raise OrlaError(
            f"{place}: the plug-in cannot be imported: {type(error).__name__}: {error}"
        ) from error
