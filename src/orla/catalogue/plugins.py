"""Importing plug-ins: what installed packages name as entry points, and the files of folders."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from orla.errors import OrlaError, describe_error

ENTRY_POINTS = "orla.plugins"
FILES = "[!_]*.py"  # of a folder that are imported; helpers begin with an underscore
# Begins the name of a module that was imported from a folder.
PREFIX = "orla_plugin_"


def import_plugins(folders: Sequence[Path]) -> bool:
    """Import what entry points name and the folders' `FILES`; whether there are any.

    OrlaError where an import fails, or could take another module than the one beside the file.
    """
    points = entry_points(group=ENTRY_POINTS)
    for point in points:
        with _refuse_failed_import(f"entry point {point.name} ({point.value})"):
            point.load()
    if absent := [str(folder) for folder in folders if str(folder) not in sys.path]:
        _refuse_ambiguous_imports(folders)  # once: the folders are on the path from then on
        sys.path += absent
    for file in (file for folder in folders for file in sorted(folder.glob(FILES))):
        # A name that is different for each file.
        digest = hashlib.sha256(str(file).encode()).hexdigest()[:12]
        module_name = f"{PREFIX}{digest}_" + re.sub(r"\W", "_", file.stem)
        if module_name in sys.modules:
            continue
        spec = importlib.util.spec_from_file_location(module_name, file)
        sys.modules[module_name] = importlib.util.module_from_spec(spec)
        try:
            with _refuse_failed_import(str(file)):
                spec.loader.exec_module(sys.modules[module_name])
        except OrlaError:
            del sys.modules[module_name]
            raise
    return bool(points or folders)


def is_from_outside(part: type) -> bool:
    """Whether a part's class stands in a plug-in, and not in this package."""
    return part.__module__.partition(".")[0] != "orla"


@contextmanager
def name_failing_part(part: Any) -> Iterator[None]:
    """Turn any error of a part from outside of orla into one line that names its file."""
    try:
        yield
    except OrlaError:
        raise
    except Exception as error:
        if not is_from_outside(type(part)):
            raise
        file = sys.modules[type(part).__module__].__file__ or ""
        what = f"{part.kind} {part.part.name}"
        raise OrlaError(f"{file}: {what} fails ({describe_error(error, file)}); mend it") from error


def forget_helpers(folders: Sequence[Path]) -> None:
    """Take folders off the path of imports, and their helper modules out of those imported."""
    sys.path[:] = [path for path in sys.path if path not in map(str, folders)]
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "")
        if not name.startswith(PREFIX) and any(folder in file.parents for folder in folders):
            del sys.modules[name]


def _refuse_ambiguous_imports(folders: Sequence[Path]) -> None:
    """Refuse an import that two folders answer, or a folder and an installed module."""
    files = [file for folder in folders for file in folder.rglob("*.py")]
    for name in sorted({name for file in files for name in _imported_packages(file)}):
        places = [folder / name for folder in folders if (folder / name).is_dir()]
        places += [f for folder in folders if (f := folder / f"{name}.py").is_file()]
        if len(places) > 1:
            raise OrlaError(
                f"plug-ins: import {name} could take either of {' and '.join(map(str, places))}; "
                "rename one"
            )
        spec = importlib.util.find_spec(name) if places else None
        if spec and spec.origin and places[0].parent not in Path(spec.origin).parents:
            raise OrlaError(
                f"{places[0]}: import {name} takes the installed module of that name; rename yours"
            )


def _imported_packages(file: Path) -> Iterator[str]:
    """The first names of what a file imports absolutely; of none that is no Python."""
    try:
        nodes = ast.walk(ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@contextmanager
def _refuse_failed_import(place: str) -> Iterator[None]:
    """Turn any error of the block into an OrlaError that names `place`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise OrlaError(
            f"{place}: the plug-in cannot be imported: {type(error).__name__}: {error}"
        ) from error
