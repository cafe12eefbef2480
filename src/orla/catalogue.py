"""The catalogue: every part of the study by name, found in its package or in a plug-in folder.

A part is a class that declares its name in its class statement (``class SGD(Optimizer,
name="sgd")``). There is no list of parts: the schema of the config, error messages, captions,
orders in figures, tables of the docs and tests are made from these declarations.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import math
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from orla.errors import OrlaError
from orla.schema import nearest

ENTRY_POINTS = "orla.plugins"

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


@dataclass(frozen=True)
class Mark:
    """Colour, marker and line (a name or an on-off pattern) of a series in figures."""

    color: str
    marker: str
    line: Any = "-"


@dataclass(frozen=True)
class Declaration:
    """What a part declares.

    Attributes:
        name: its name in configs and tables.
        label: its name in reports; ``{option}`` is replaced by the value of an option.
        order: its place in tables and legends; parts of equal order are sorted by name.
        chapter: the chapter of the report that it belongs to.
        mark: colour, marker and line in figures.
        short: options that a short form gives after the name: ``tbptt-200-200``.
        more: declarations of this kind of part alone, such as the results that a table needs.
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

    The base class of a kind sets ``kind`` and ``declares``: the further keywords that a class
    statement of this kind may use, with their defaults. They are stored in `Declaration.more`.
    """

    kind: ClassVar[str] = ""
    declares: ClassVar[Mapping[str, Any]] = {}
    part: ClassVar[Declaration | None] = None

    def __init_subclass__(cls, *, name: str | None = None, **declared: Any) -> None:
        super().__init_subclass__()
        cls.part = None
        if name is None:
            if declared:
                raise TypeError(f"{cls.__name__} declares {sorted(declared)} and no name")
            return
        own = {f.name for f in dataclasses.fields(Declaration)} - {"name", "more"}
        for word in declared:
            if word not in own and word not in cls.declares:
                known = sorted(own | set(cls.declares))
                raise TypeError(f"{cls.__name__}: {word!r} is not declared; {nearest(word, known)}")
        more = {word: declared.get(word, default) for word, default in cls.declares.items()}
        known = {word: value for word, value in declared.items() if word in own}
        cls.part = Declaration(name=name, more=more, **({"label": name} | known))


def option(
    default: Any = dataclasses.MISSING,
    text: str = "",
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: Sequence[Any] | None = None,
) -> Any:
    """A field of a part that a config may set: its default, meaning and allowed values.

    Args:
        default: Its value where the config sets none; without a default the config must set it.
        text: One sentence for the schema and the docs.
        least, most: Bounds that belong to the range; `above`: one that does not.
        choices: The allowed values.
    """
    limits = {"minimum": least, "maximum": most, "exclusiveMinimum": above}
    limits["enum"] = None if choices is None else list(choices)
    meta = {"text": text, "limits": {k: v for k, v in limits.items() if v is not None}}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=meta)
    return field(default=default, metadata=meta)


_plugins: list[Path] = []


def use_plugins(folders: Sequence[str | Path]) -> None:
    """Look for parts in these folders too, and in installed packages with entry points.

    Raises:
        OrlaError: A folder does not exist.
    """
    found = [Path(folder).resolve() for folder in folders]
    for folder, given in zip(found, folders, strict=True):
        if not folder.is_dir():
            raise OrlaError(f'config: "plugins" has {given}, which is no folder; mend the path')
    if found != _plugins:
        _plugins[:] = found
        _loaded.clear()


def plugin_folders() -> list[Path]:
    """The plug-in folders in use."""
    return list(_plugins)


_loaded: dict[str, dict[str, type[Part]]] = {}


def parts(kind: str) -> dict[str, type[Any]]:
    """Every part of a kind by name, in its declared order.

    Raises:
        OrlaError: Two parts have one name, or a plug-in cannot be imported.
    """
    if kind not in _loaded:
        room = importlib.import_module(f"orla.{ROOMS[kind]}")
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
        _import_plugins()
        base = importlib.import_module(f"orla.{ROOMS[kind]}.base")
        [root] = [c for c in vars(base).values() if _is_root(c, kind)]
        _loaded[kind] = _collected(kind, root)
    return _loaded[kind]


def _is_root(thing: Any, kind: str) -> bool:
    return isinstance(thing, type) and issubclass(thing, Part) and vars(thing).get("kind") == kind


def _collected(kind: str, root: type[Part]) -> dict[str, type[Part]]:
    found: dict[str, type[Part]] = {}
    for part in _subclasses(root):
        if part.part is None or not _belongs(part):
            continue
        name = part.part.name
        if name in found and found[name] is not part:
            places = " and ".join(
                sorted(sys.modules[c.__module__].__file__ or "" for c in (found[name], part))
            )
            raise OrlaError(
                f"two parts of the kind {kind} are called {name!r}: {places}; rename one"
            )
        found[name] = part
    return dict(sorted(found.items(), key=lambda item: (item[1].part.order, item[0])))


def _belongs(part: type[Part]) -> bool:
    """Whether a part is built in, installed, or in a plug-in folder that is in use."""
    module = sys.modules.get(part.__module__)
    if module is None or getattr(module, part.__name__, None) is not part:
        return False
    if part.__module__.startswith("orla."):
        return True
    file = Path(module.__file__ or "").resolve()
    outside = part.__module__.startswith(_PREFIX)
    return not outside or any(folder in file.parents for folder in _plugins)


def _subclasses(root: type) -> Iterator[type]:
    for child in root.__subclasses__():
        yield child
        yield from _subclasses(child)


_PREFIX = "orla_plugin_"


def _import_plugins() -> None:
    for point in entry_points(group=ENTRY_POINTS):
        with _one_line(f"entry point {point.name} ({point.value})"):
            point.load()
    for folder in _plugins:
        for file in sorted(folder.glob("*.py")):
            if file.name.startswith("_"):
                continue
            module_name = _module_name(file)
            if module_name in sys.modules:
                continue
            spec = importlib.util.spec_from_file_location(module_name, file)
            module = importlib.util.module_from_spec(spec)
            sys.modules[module_name] = module
            if str(folder) not in sys.path:
                sys.path.append(str(folder))  # for helper modules beside the parts
            try:
                with _one_line(str(file)):
                    spec.loader.exec_module(module)
            except OrlaError:
                del sys.modules[module_name]
                raise


def _module_name(file: Path) -> str:
    """A module name for a plug-in file, different for each file."""
    digest = hashlib.sha256(str(file).encode()).hexdigest()[:12]
    return _PREFIX + digest + "_" + re.sub(r"\W", "_", file.stem)


@contextmanager
def _one_line(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise OrlaError(
            f"{place}: the plug-in cannot be imported: {type(error).__name__}: {error}"
        ) from error


def part(kind: str, name: str) -> type[Any]:
    """The part of a kind that is called `name`.

    Raises:
        OrlaError: There is none; the nearest is named.
    """
    known = parts(kind)
    if name not in known:
        raise OrlaError(f"{kind} {name!r} is unknown; {nearest(name, known)}")
    return known[name]


def specification(kind: str, given: str | Mapping[str, Any]) -> tuple[type[Any], dict[str, Any]]:
    """The part and the options that a short form, or a mapping with ``kind``, stands for.

    ``"tbptt-200-50"`` is ``{kind: tbptt, window: 200, update_every: 50}``: numbers after a name
    are the options that the part declares as `short`, in that order.

    Raises:
        OrlaError: The name, an option or a value is unknown.
    """
    if isinstance(given, str):
        return _short_form(kind, given)
    if not isinstance(given, Mapping) or "kind" not in given:
        raise OrlaError(f"{kind}: {given!r} names none; give a name, or kind: and options")
    options = dict(given)
    found = part(kind, str(options.pop("kind")))
    known = [f.name for f in options_of(found)]
    for key in options:
        if key not in known:
            raise OrlaError(
                f'{kind} {found.part.name}: "{key}" is no option; {nearest(str(key), known)}'
            )
    return found, options


def _short_form(kind: str, form: str) -> tuple[type[Any], dict[str, Any]]:
    known = parts(kind)
    if form in known:
        return known[form], {}
    for name in sorted(known, key=len, reverse=True):
        if re.fullmatch(re.escape(name) + r"(-[0-9]+)+", form):
            found = known[name]
            numbers = [int(n) for n in form[len(name) + 1 :].split("-")]
            if len(numbers) == len(found.part.short):
                return found, dict(zip(found.part.short, numbers, strict=True))
            raise OrlaError(f"{kind} {form!r}: write {' or '.join(forms(found))}")
    raise OrlaError(f"{kind} {form!r} is unknown; {nearest(form, all_forms(kind))}")


def forms(found: type[Any]) -> list[str]:
    """The short forms of a part: its name, and its name with its short options in capitals."""
    declared = found.part
    if not declared.short:
        return [declared.name]
    return [declared.name, "-".join([declared.name, *(o.upper() for o in declared.short)])]


def all_forms(kind: str) -> list[str]:
    """The short forms of all parts of a kind."""
    return [form for found in parts(kind).values() for form in forms(found)]


def options_of(found: type[Any]) -> list[dataclasses.Field]:
    """The fields of a part that a config may set: those made by `option`."""
    if not dataclasses.is_dataclass(found):
        return []
    return [f for f in dataclasses.fields(found) if "limits" in f.metadata]


def make(kind: str, given: str | Mapping[str, Any], **context: Any) -> Any:
    """An instance of the part that a short form or a mapping stands for.

    Args:
        kind: A key of `ROOMS`.
        given: A short form, or a mapping of ``kind`` and options.
        **context: Fields that are not options, such as a learner's architecture.

    Raises:
        OrlaError: The name, an option or a value is unknown or out of range.
    """
    found, options = specification(kind, given)
    for f in options_of(found):
        if f.name in options:
            options[f.name] = _checked(found, f, options[f.name])
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise OrlaError(f'{kind} {found.part.name}: option "{f.name}" is missing; give it')
    hints = get_type_hints(found) if options else {}
    return found(**{k: _built(hints[k], value) for k, value in options.items()}, **context)


def _checked(found: type[Any], f: dataclasses.Field, value: Any) -> Any:
    """The checked value, converted to the option's type: 1.0 to 1, a list to a tuple."""
    from orla.schema import validate

    name = f"{found.kind} {found.part.name}"
    validate({f.name: value}, {"properties": {f.name: option_schema(found, f)}}, name)
    if isinstance(value, float) and not math.isfinite(value):
        raise OrlaError(f'{name}: "{f.name}" is {value}; give a finite number')
    hint = get_type_hints(found).get(f.name)
    hint = getattr(hint, "__origin__", hint)
    return hint(value) if hint in (int, float, tuple) else value


_TYPES = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    type(None): {"type": "null"},
}


def option_schema(found: type[Any], f: dataclasses.Field) -> dict[str, Any]:
    """The JSON schema of one option, from its type, bounds and text."""
    hint = get_type_hints(found).get(f.name, Any)
    text = {"description": f.metadata["text"]} if "text" in f.metadata else {}
    return text | _typed(hint) | dict(f.metadata.get("limits", {}))


def _typed(hint: Any) -> dict[str, Any]:
    arguments = getattr(hint, "__args__", ())
    origin = getattr(hint, "__origin__", None)
    if type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union"):
        return {"anyOf": [_typed(a) for a in arguments]}
    if origin in (list, tuple) and arguments:
        return {"type": "array", "items": _typed(arguments[0])}
    if dataclasses.is_dataclass(hint):
        return _schema_of(hint)
    if origin is dict and len(arguments) == 2:
        return {"type": "object", "additionalProperties": _typed(arguments[1])}
    return dict(_TYPES.get(origin or hint, {}))


def _schema_of(settings: type[Any]) -> dict[str, Any]:
    """The JSON schema of a dataclass of settings (an option that is a mapping)."""
    named = dataclasses.fields(settings)
    schema = {
        "type": "object",
        "description": " ".join((settings.__doc__ or "").split("\n\n")[0].split()),
        "additionalProperties": False,
        "properties": {f.name: option_schema(settings, f) for f in named},
    }
    silent = (f for f in named if f.default is f.default_factory is dataclasses.MISSING)
    return schema | {"required": [f.name for f in silent]}


def settings(kind: type[Any], given: Any, name: str) -> Any:
    """A dataclass of settings, with those nested in it, from a mapping.

    Args:
        kind: A dataclass; its fields are options or dataclasses of settings.
        given: A mapping from a config, or the settings themselves.
        name: Its name in messages.

    Raises:
        OrlaError: A key is unknown or missing, or a value is not what it may be.
    """
    from orla.schema import validate

    if isinstance(given, kind):
        return given
    validate(given, _schema_of(kind), name)
    return _built(kind, given)


def _built(hint: Any, given: Any) -> Any:
    """A value of a config; mappings become dataclasses where the type hint says so."""
    if dataclasses.is_dataclass(hint) and isinstance(given, Mapping):
        hints = get_type_hints(hint)
        return hint(**{name: _built(hints[name], value) for name, value in given.items()})
    if getattr(hint, "__origin__", None) is dict and isinstance(given, Mapping):
        return {name: _built(hint.__args__[1], value) for name, value in given.items()}
    return given


def label(kind: str, given: str | Mapping[str, Any]) -> str:
    """A part's label with the values of its options filled in."""
    found, options = specification(kind, given)
    defaults = {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in options_of(found)
    }
    return found.part.label.format_map(defaults | options)
