"""The catalogue: every part of the study by name, found in its package or in a plug-in folder.

A part is a class that declares its name in its class statement (``class SGD(Optimizer,
name="sgd")``); the schema, messages, captions, docs and tests are made from these declarations.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from orla.catalogue import plugins
from orla.catalogue.declaration import MARKERS as MARKERS
from orla.catalogue.declaration import Declaration as Declaration
from orla.catalogue.declaration import Mark as Mark
from orla.catalogue.declaration import Part as Part
from orla.catalogue.options import option as option
from orla.catalogue.options import options_of, parse_options
from orla.errors import OrlaError
from orla.schema import nearest_hint

# Kind of part -> the package of orla whose modules hold the built-in parts.
KIND_PACKAGES = {
    "task": "tasks",
    "architecture": "architectures",
    "loss": "losses",
    "start": "starts",
    "learner": "learners",
    "optimizer": "optimizers",
    "intervention": "interventions",
    "probe": "probes",
    "statistic": "results",
    "table": "reports.tables",
    "figure": "reports.figures",
}


_plugins: list[Path] = []


def use_plugins(folders: Sequence[str | Path]) -> None:
    """Look for parts in these folders too, and in installed packages with entry points."""
    if isinstance(folders, (str, Path)):
        raise OrlaError(f"use_plugins was given {folders}; give a list of folders")
    paths = [Path(path).resolve() for path in folders]
    for path, folder in zip(paths, folders, strict=True):
        if not path.is_dir():
            raise OrlaError(
                f'config: "plugins" has {folder}, which is no folder; mend the path (it leads to '
                f"{path})"
            )
    names = [path.name for path in paths]
    if twice := [name for name in names if names.count(name) > 1]:
        raise OrlaError(
            f'config: "plugins" has two folders called {twice[0]}, by which provenance names their '
            "files; rename one"
        )
    if paths != _plugins:
        plugins.forget_helpers(_plugins)
        _plugins[:] = paths
        _parts.clear()


def plugin_folders() -> list[Path]:
    """The plug-in folders in use."""
    return list(_plugins)


_parts: dict[str, dict[str, type[Part]]] = {}


def parts(kind: str) -> dict[str, type[Any]]:
    """Every part of a kind by name, in order; OrlaError where two have one name."""
    if kind not in _parts:
        _import_kind_package(kind)
        plugins.import_plugins(_plugins)
        _parts[kind] = _parts_by_name(kind)
    return _parts[kind]


def _parts_by_name(kind: str) -> dict[str, type[Part]]:
    """Every part of a kind that was imported and is in use, by name, in order."""
    classes: dict[str, type[Part]] = {}
    for part in (part for part in _parts_in_use() if part.kind == kind):
        name, file = part.part.name, _defining_file(part)
        if classes.get(name, part) is not part:
            files = sorted((_defining_file(classes[name]), file))
            if files[0] == files[1] and file:
                raise OrlaError(
                    f"{file}: another plug-in file imports it, and so its parts stand twice; move "
                    "what both need to a file whose name begins with an underscore"
                )
            raise OrlaError(
                f"two parts of the kind {kind} are called {name!r}: {' and '.join(files)};"
                " rename one"
            )
        words = {word for _, word, _, _ in Formatter().parse(part.part.label) if word is not None}
        for word in sorted(words - {f.name for f in options_of(part)}):
            raise OrlaError(
                f"{file}: the label of the {kind} {name} names {{{word}}}, which is none of its "
                "options"
            )
        classes[name] = part
    return dict(sorted(classes.items(), key=lambda item: (item[1].part.order, item[0])))


def _defining_file(part: type[Part]) -> str:
    # A part that is defined at a prompt or in a notebook stands in no file.
    return getattr(sys.modules[part.__module__], "__file__", None) or ""


def kinds_with_plugin_parts() -> list[str]:
    """The kinds that plug-in folders and installed packages, which are imported, add parts to."""
    if not plugins.import_plugins(_plugins):
        return []
    kinds = {part.kind for part in _parts_in_use() if plugins.is_from_outside(part)}
    return [kind for kind in KIND_PACKAGES if kind in kinds]


def _import_kind_package(kind: str) -> str:
    """Import all modules of a kind's package; the package's name."""
    room = importlib.import_module(f"orla.{KIND_PACKAGES[kind]}")
    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"{room.__name__}.{module.name}")
    return room.__name__


@functools.cache
def _built_in_parts(kind: str) -> dict[str, type[Part]]:
    """The parts of a kind in the package, by name."""
    room = f"{_import_kind_package(kind)}."
    classes = (part for part in _parts_in_use() if part.kind == kind)
    return {part.part.name: part for part in classes if part.__module__.startswith(room)}


def _parts_in_use(root: type[Part] = Part) -> Iterator[type[Part]]:
    """All parts that are built in, installed, or in a plug-in folder that is in use."""
    for part in root.__subclasses__():
        module = sys.modules.get(part.__module__)
        if part.part and getattr(module, part.__name__, None) is part:
            from_folder = part.__module__.startswith(plugins.PREFIX)
            if not from_folder or {*_plugins} & {*Path(module.__file__).resolve().parents}:
                yield part
        yield from _parts_in_use(part)


def part(kind: str, name: str) -> type[Any]:
    """The part of a kind that is called `name`; OrlaError names the nearest.

    For a part of the package no plug-in is imported: these may need PyTorch, which the job of a
    table or figure does without.
    """
    if kind not in _parts and (built_in := _built_in_parts(kind).get(name)):
        return built_in
    parts_of_kind = parts(kind)
    if name not in parts_of_kind:
        raise OrlaError(f"{kind} {name!r} is unknown; {nearest_hint(name, parts_of_kind)}")
    return parts_of_kind[name]


def specification(kind: str, spec: str | Mapping[str, Any]) -> tuple[type[Any], dict[str, Any]]:
    """The part and options of a short form or of a mapping with ``kind``; OrlaError of others.

    ``"tbptt-200-50"`` is ``{kind: tbptt, window: 200, update_every: 50}``: numbers after a name are
    the options that the part declares as `short`.
    """
    if isinstance(spec, str):
        parts_of_kind = parts(kind)
        for name in sorted(parts_of_kind, key=len, reverse=True):
            if re.fullmatch(re.escape(name) + "(-[0-9]+)*", spec):
                part_class = parts_of_kind[name]
                numbers = [int(n) for n in spec.removeprefix(name).split("-")[1:]]
                if len(numbers) in (0, len(part_class.part.short)):
                    return part_class, dict(zip(part_class.part.short, numbers, strict=False))
                raise OrlaError(
                    f"{kind} {spec!r}: write {' or '.join(short_form_templates(part_class))}"
                )
        raise OrlaError(f"{kind} {spec!r} is unknown; {nearest_hint(spec, all_short_forms(kind))}")
    if not isinstance(spec, Mapping) or "kind" not in spec:
        raise OrlaError(f"{kind}: {spec!r} names none; give a name, or kind: and options")
    options = dict(spec)
    return part(kind, str(options.pop("kind"))), options


def short_form_templates(part: type[Any]) -> list[str]:
    """The short forms of a part: its name, and its name with its short options in capitals."""
    longest = "-".join([part.part.name, *map(str.upper, part.part.short)])
    return list(dict.fromkeys([part.part.name, longest]))


def all_short_forms(kind: str) -> list[str]:
    """The short forms of all parts of a kind."""
    return [form for part in parts(kind).values() for form in short_form_templates(part)]


def make(kind: str, spec: str | Mapping[str, Any], **context: Any) -> Any:
    """An instance of the part of a short form or mapping; `context` sets further fields."""
    part, options = specification(kind, spec)
    return part(**parse_options(part, options, f"{kind} {part.part.name}"), **context)
