"""The catalogue: every part of the study by name, found in its package or in a plug-in folder.

A part is a class that declares its name in its class statement (``class SGD(Optimizer,
name="sgd")``); the schema, messages, captions, docs and tests are made from these declarations.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

from orla.catalogue import plugins
from orla.catalogue.options import option as option
from orla.catalogue.options import options_of, parse_options
from orla.errors import OrlaError
from orla.schema import nearest

# Kind of part -> the package of orla whose modules hold the built-in parts.
ROOMS = {
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

# Matplotlib's markers of one letter.
MARKERS = tuple(".,ov^<>12348spP*hH+xXDd|_")


@dataclass(frozen=True)
class Mark:
    """Colour, marker and line of a series in figures, as Matplotlib writes them."""

    color: str
    marker: str
    line: Any = "-"

    def __post_init__(self) -> None:
        if self.marker not in MARKERS:
            raise TypeError(
                f"a mark has the marker {self.marker!r}; it is one of {' '.join(MARKERS)}"
            )

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Mark:
        """The mark of its fields, as JSON holds them."""
        line = plain["line"]
        if not isinstance(line, str):
            line = (line[0], tuple(line[1]))
        return cls(plain["color"], plain["marker"], line)


@dataclass(frozen=True)
class Declaration:
    """What a part declares.

    `label` is its name in reports, with options in braces; parts are sorted by `order`, then name;
    `short` are the options that a short form gives after the name (``tbptt-200-200``); `more` is
    what this kind of part alone declares, such as the results that a table needs.
    """

    name: str
    label: str = ""
    order: float = 1000
    chapter: str = ""
    mark: Mark | None = None
    short: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


class Part:
    """Base of every part. A subclass with a ``name`` is a part of its kind.

    The base class of a kind sets ``kind`` and ``declares``: further keywords of its class
    statements, with their defaults, which go to `Declaration.more`.
    """

    kind: ClassVar[str] = ""
    declares: ClassVar[Mapping[str, Any]] = {}
    part: ClassVar[Declaration | None] = None

    def __init_subclass__(cls, *, name: str | None = None, **keywords: Any) -> None:
        super().__init_subclass__()
        cls.part = None
        if name is None:
            if keywords:
                raise TypeError(f"{cls.__name__} declares {sorted(keywords)} and no name")
            return
        fields = {f.name for f in dataclasses.fields(Declaration)} - {"name", "more"}
        more = {word: keywords.pop(word, default) for word, default in cls.declares.items()}
        for word in sorted(keywords.keys() - fields):
            near = nearest(word, sorted(fields | more.keys()))
            raise TypeError(f"{cls.__name__}: {word!r} is not declared; {near}")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
            raise TypeError(
                f"{cls.__name__}: the name {name!r} goes into files' names; write it in letters, "
                "digits, - and _"
            )
        cls.part = Declaration(name=name, more=more, **({"label": name} | keywords))
        if not isinstance(order := cls.part.order, (int, float)):
            raise TypeError(f"{cls.__name__}: order is {order!r}; make it a number")
        if not isinstance(mark := cls.part.mark, Mark | None):
            raise TypeError(f"{cls.__name__}: mark is {mark!r}; make it Mark(colour, marker, line)")


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
    if paths != _plugins:
        _plugins[:] = paths
        _parts.clear()


def plugin_folders() -> list[Path]:
    """The plug-in folders in use."""
    return list(_plugins)


_parts: dict[str, dict[str, type[Part]]] = {}


def parts(kind: str) -> dict[str, type[Any]]:
    """Every part of a kind by name, in order; OrlaError where two have one name."""
    if kind not in _parts:
        _import_room(kind)
        plugins.import_plugins(_plugins)
        _parts[kind] = _parts_by_name(kind)
    return _parts[kind]


def _parts_by_name(kind: str) -> dict[str, type[Part]]:
    """Every part of a kind that was imported and is in use, by name, in order."""
    classes: dict[str, type[Part]] = {}
    for part in _subclasses(Part):
        if part.kind != kind or part.part is None or not _belongs(part):
            continue
        name, file = part.part.name, _defining_file(part)
        if classes.get(name, part) is not part:
            files = sorted((_defining_file(classes[name]), file))
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


def kinds_from_outside() -> list[str]:
    """The kinds that plug-in folders and installed packages, which are imported, add parts to."""
    if not plugins.import_plugins(_plugins):
        return []
    kinds = {
        part.kind
        for part in _subclasses(Part)
        if part.part and _belongs(part) and not part.__module__.startswith("orla.")
    }
    return [kind for kind in ROOMS if kind in kinds]


def _import_room(kind: str) -> str:
    """Import all modules of a kind's package; the package's name."""
    room = importlib.import_module(f"orla.{ROOMS[kind]}")
    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"{room.__name__}.{module.name}")
    return room.__name__


@functools.cache
def _built_in_parts(kind: str) -> dict[str, type[Part]]:
    """The parts of a kind in the package, by name."""
    room = f"{_import_room(kind)}."
    classes = (part for part in _subclasses(Part) if part.kind == kind and part.part is not None)
    return {part.part.name: part for part in classes if part.__module__.startswith(room)}


def _belongs(part: type[Part]) -> bool:
    """Whether a part is built in, installed, or in a plug-in folder that is in use."""
    module = sys.modules.get(part.__module__)
    if getattr(module, part.__name__, None) is not part:
        return False
    if not part.__module__.startswith(plugins.PREFIX):
        return True
    return any(folder in Path(module.__file__).resolve().parents for folder in _plugins)


def _subclasses(root: type) -> Iterator[type]:
    """All subclasses of a class, and theirs."""
    for child in root.__subclasses__():
        yield child
        yield from _subclasses(child)


def part(kind: str, name: str) -> type[Any]:
    """The part of a kind that is called `name`; OrlaError names the nearest.

    For a part of the package no plug-in is imported: these may need PyTorch, which the job of a
    table or figure does without.
    """
    if kind not in _parts and (built_in := _built_in_parts(kind).get(name)):
        return built_in
    parts_of_kind = parts(kind)
    if name not in parts_of_kind:
        raise OrlaError(f"{kind} {name!r} is unknown; {nearest(name, parts_of_kind)}")
    return parts_of_kind[name]


def specification(kind: str, spec: str | Mapping[str, Any]) -> tuple[type[Any], dict[str, Any]]:
    """The part and options of a short form or of a mapping with ``kind``; OrlaError of others.

    ``"tbptt-200-50"`` is ``{kind: tbptt, window: 200, update_every: 50}``: numbers after a name are
    the options that the part declares as `short`.
    """
    if isinstance(spec, str):
        parts_of_kind = parts(kind)
        if spec in parts_of_kind:
            return parts_of_kind[spec], {}
        for name in sorted(parts_of_kind, key=len, reverse=True):
            if re.fullmatch(re.escape(name) + r"(-[0-9]+)+", spec):
                chosen = parts_of_kind[name]
                numbers = [int(n) for n in spec[len(name) + 1 :].split("-")]
                if len(numbers) == len(chosen.part.short):
                    return chosen, dict(zip(chosen.part.short, numbers, strict=True))
                raise OrlaError(f"{kind} {spec!r}: write {' or '.join(short_forms(chosen))}")
        raise OrlaError(f"{kind} {spec!r} is unknown; {nearest(spec, all_short_forms(kind))}")
    if not isinstance(spec, Mapping) or "kind" not in spec:
        raise OrlaError(f"{kind}: {spec!r} names none; give a name, or kind: and options")
    options = dict(spec)
    return part(kind, str(options.pop("kind"))), options


def short_forms(part: type[Any]) -> list[str]:
    """The short forms of a part: its name, and its name with its short options in capitals."""
    declaration = part.part
    if not declaration.short:
        return [declaration.name]
    return [declaration.name, "-".join([declaration.name, *(o.upper() for o in declaration.short)])]


def all_short_forms(kind: str) -> list[str]:
    """The short forms of all parts of a kind."""
    return [form for part in parts(kind).values() for form in short_forms(part)]


def make(kind: str, spec: str | Mapping[str, Any], **context: Any) -> Any:
    """An instance of the part of a short form or mapping; `context` sets further fields."""
    part, options = specification(kind, spec)
    return part(**parse_options(part, options, f"{kind} {part.part.name}"), **context)
