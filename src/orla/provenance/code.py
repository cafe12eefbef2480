"""The source files that a result depends on, found by parsing import statements.

Parts are found by name, not imported by the modules that use them. So the roots of a result name
its parts, and a change of one optimizer affects only the results made with it.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orla import catalogue
from orla.catalogue import plugins
from orla.errors import OrlaError
from orla.schema import nearest_hint

_HOME = Path(__file__).parents[2]

SILENT = ("orla.errors", "orla.files", "orla.progress", "orla.provenance", "orla.schema")
"""Modules that write messages and files and change no number; no result depends on them."""

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Where statements hold others.
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")

Root = str | Path


def code_hash(*roots: Root) -> str:
    """SHA-256 over all files of `source_digests`, in hexadecimal."""
    return digests_hash(source_digests(*roots))


def digests_hash(files: Mapping[str, str]) -> str:
    """SHA-256, in hexadecimal, over names and digests of files, as from `source_digests`."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


def syntax_hash(*roots: Root) -> str:
    """SHA-256 over the syntax trees, docstrings apart, of the Python files of `source_digests`."""
    files = {_source_name(f): f for f in _reachable_files(roots) if f.suffix == ".py"}
    return digests_hash({name: _syntax_tree_hash(*_cache_key(f)) for name, f in files.items()})


def source_digests(*roots: Root) -> dict[str, str]:
    """SHA-256 of each source file that the roots depend on, and of these, by its name.

    Roots are modules by name, and files. Imports of orla and of a plug-in's own package or folder
    are followed, with the ``__init__`` files of their packages; `SILENT` and imports under ``if
    TYPE_CHECKING`` are not. A file of the same stem beside a module (kernels.cpp beside kernels.py)
    is included. Paths of orla begin with ``orla/``, others with the name of their folder. OrlaError
    where there is no such module.
    """
    entries = (_name_digest_imports(*_cache_key(file)) for file in _reachable_files(roots))
    return {name: digest for name, digest, _ in entries}


def declaring_files(kind: str, short_form: str) -> list[Path]:
    """The files that declare a part: in its room, and in plug-in folders and installed plug-ins.

    `short_form` may be its name. A plug-in's file that declares a part of another kind under the
    same name is included too. OrlaError names the nearest where there is none.
    """
    if kind not in catalogue.KIND_PACKAGES:
        raise OrlaError(
            f"kind of part {kind!r} is unknown; {nearest_hint(kind, catalogue.KIND_PACKAGES)}"
        )
    room = _HOME.joinpath("orla", *catalogue.KIND_PACKAGES[kind].split("."))
    files_by_name: dict[str, list[Path]] = {}
    for file in [*sorted(room.glob(plugins.FILES)), *_plugin_files()]:
        for name in _imports_and_declared_names(*_cache_key(file))[1]:
            files_by_name.setdefault(name, []).append(file)
    for name in (short_form, re.sub(r"(-\d+)+$", "", short_form)):
        if name in files_by_name:
            return files_by_name[name]
    raise OrlaError(
        f"{kind} {short_form!r} is unknown; {nearest_hint(short_form, files_by_name)}; or write "
        "the name of a plug-in's part as text in its class statement"
    )


def files_of_parts(parts: Iterable[tuple[str, str]]) -> list[Path]:
    """`declaring_files` of each (kind, name or short form), one after the other."""
    return [file for kind, form in parts for file in declaring_files(kind, form)]


def _plugin_files() -> Iterator[Path]:
    """The Python files of plug-in folders and of installed plug-ins."""
    for folder in catalogue.plugin_folders():
        yield from sorted(folder.glob(plugins.FILES))
    for origin in _plugin_origins(tuple(sys.path)):
        yield from sorted(_reachable_files([origin]))


@lru_cache
def _plugin_origins(path: tuple[str, ...]) -> list[Path]:
    """Files of the modules that entry points name; looking through `path` for them takes long."""
    specs = [find_spec(point.module) for point in entry_points(group=plugins.ENTRY_POINTS)]
    return [Path(spec.origin) for spec in specs if spec is not None and spec.origin]


def _reachable_files(roots: Iterable[Root]) -> set[Path]:
    """The roots' files, and all that these import, directly or not."""
    todo = {file for root in roots for file in _resolve_root(root)}
    files: set[Path] = set()
    while todo:
        files.add(file := todo.pop())
        todo |= _name_digest_imports(*_cache_key(file))[2] - files
    return files


def _resolve_root(root: Root) -> list[Path]:
    """A root's own file, or those of a module and its packages; OrlaError where there is none."""
    if isinstance(root, Path):
        return [root.resolve()]
    files = _resolve_import(root, _HOME / "orla" / "__init__.py")
    if not files or root.rpartition(".")[2] not in (files[-1].stem, files[-1].parent.name):
        raise OrlaError(f"{root}: no module of orla; name one such as orla.study.sweep")
    return files


def _resolve_import(module: str, importer: Path) -> list[Path]:
    """Files that an import executes in orla and plug-ins: the module's and its packages'."""
    if any(f"{module}.".startswith(f"{silent}.") for silent in SILENT):
        return []
    parts = module.split(".")
    for home in _import_homes(parts[0], importer):
        if files := _module_files(home, parts):
            return files
    return []


def _import_homes(package: str, importer: Path) -> list[Path]:
    """The folders in which an importing file finds a package or module of that name."""
    if package == "orla":
        return [_HOME]
    if _plugin_folder(importer):
        return [] if package in sys.stdlib_module_names else catalogue.plugin_folders()
    top = _top_folder(importer)
    if top == importer.parent:
        return [] if top.name in ("site-packages", "dist-packages") else [top]
    return [top] if package == importer.relative_to(top).parts[0] else []


def _plugin_folder(file: Path) -> Path | None:
    """The plug-in folder that a file lies in, itself or in a folder of it."""
    return next((folder for folder in catalogue.plugin_folders() if folder in file.parents), None)


def _module_files(home: Path, parts: list[str]) -> list[Path]:
    """The files of a module below a folder, and of the packages that it lies in."""
    files = []
    for depth in range(1, len(parts) + 1):
        place = home.joinpath(*parts[:depth])
        if (place / "__init__.py").is_file():
            files.append(place / "__init__.py")
        elif place.with_suffix(".py").is_file():
            files.append(place.with_suffix(".py"))
            break
    return files


def _top_folder(file: Path) -> Path:
    """The plug-in folder of a file, or that of its outermost package, or else its own folder."""
    if folder := _plugin_folder(file):
        return folder
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _source_name(file: Path) -> str:
    """A file's name in provenance: its path from orla, or from its own top folder."""
    top = _top_folder(file)
    return file.relative_to(top if top == _HOME else top.parent).as_posix()


def _cache_key(file: Path) -> tuple[Path, tuple[Any, ...]]:
    """A file, and what a cached reading depends on: time of change, size, the plug-in folders."""
    status = file.stat()
    return file, (status.st_mtime_ns, status.st_size, *catalogue.plugin_folders())


@lru_cache(maxsize=4096)
def _name_digest_imports(file: Path, stamp: tuple[Any, ...]) -> tuple[str, str, set[Path]]:
    """A file's name and SHA-256, and the files that it imports or has beside it if it is Python."""
    files: set[Path] = set()
    if file.suffix == ".py":
        modules, _ = _imports_and_declared_names(file, stamp)
        files = {f for f in file.parent.glob(f"{file.stem}.*") if f.stem == file.stem}
        files.update(*(_resolve_import(module, file) for module in modules))
    return _source_name(file), hashlib.sha256(file.read_bytes()).hexdigest(), files


@lru_cache(maxsize=4096)
def _imports_and_declared_names(file: Path, stamp: tuple[Any, ...]) -> tuple[set[str], list[str]]:
    """What a file imports ("a.b" too of ``from a import b``); names that its classes declare."""
    modules: set[str] = set()
    names, constants = [], {}
    for node in sorted(_runtime_statements(file), key=lambda node: getattr(node, "lineno", 0)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            folder = file.parent.relative_to(_top_folder(file)).parts if node.level else ()
            package = folder[: len(folder) - node.level + 1]  # what leading dots stand for
            module = ".".join([*package, *filter(None, [node.module])])
            modules |= {f"{module}.{alias.name}" for alias in node.names} | {module}
        elif isinstance(node, ast.ClassDef):
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            if isinstance(name := keywords.get("name"), ast.Name):
                name = constants.get(name.id)
            if isinstance(name, ast.Constant):
                names.append(name.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
    return modules, names


def _runtime_statements(file: Path) -> Iterator[ast.AST]:
    """All statements of a file but those that only a type checker runs."""
    try:
        todo: list[ast.AST] = [ast.parse(file.read_bytes())]
    except (SyntaxError, ValueError) as error:
        raise OrlaError(f"{file}: no Python ({error}); mend it") from None
    while todo:
        node = todo.pop()
        type_checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for block in ("orelse",) if type_checking else _BLOCKS:
            todo += getattr(node, block, ())
        yield node


@lru_cache(maxsize=4096)
def _syntax_tree_hash(file: Path, stamp: tuple[Any, ...]) -> str:
    """Hash of a file's syntax tree without docstrings."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
