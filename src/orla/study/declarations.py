"""What all parts declare, as plain data, and what the names of a config stand for.

Snakemake needs the declarations each time that it reads the workflow. Those of the package's own
parts stand in a file that `make reference` writes, because importing every part takes seconds.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orla import catalogue
from orla.catalogue.entries import packaged_declarations
from orla.catalogue.options import (
    defaults_of,
    fields_schema,
    file_options,
    lists_of_parts,
    options_of,
)
from orla.catalogue.plugins import is_from_outside
from orla.errors import OrlaError, prefix_errors
from orla.schema import nearest_hint
from orla.study.keys import KEYS

Declarations = dict[str, dict[str, dict[str, Any]]]

# Kind of part -> the section of a config that names instances of it.
SECTIONS = {
    "task": "tasks",
    "architecture": "networks",
    "learner": "learners",
    "optimizer": "optimizers",
    "intervention": "interventions",
    "start": "starts",
    "probe": "probes",
}
# List of a block -> kind of the parts that it names; a chain of interventions is several.
PART_LISTS = {section: kind for kind, section in SECTIONS.items()} | {"observers": "learner"}


def read_declarations(plugins: Sequence[str | Path] = ()) -> Declarations:
    """Declarations of all parts: kind -> name -> declaration.

    Each has the fields of `catalogue.Declaration`, ``forms`` (its short forms), ``defaults`` and
    ``schema`` (a JSON schema of its options), ``lists`` (its options that are lists of parts, and
    their kinds), ``files`` (its options that name files), and ``doc`` (the first line of its
    docstring). Of a kind that plug-ins add a part to, the parts are imported.
    """
    catalogue.use_plugins(plugins)
    kinds = catalogue.kinds_with_plugin_parts()
    declarations = packaged_declarations("parts") | describe_parts(kinds)
    for kind in kinds:
        for name, part in catalogue.parts(kind).items():
            if is_from_outside(part):
                with prefix_errors(f"{sys.modules[part.__module__].__file__}: {kind} {name}"):
                    _check_names_and_needs(kind, name, declarations)
    return declarations


def _check_names_and_needs(kind: str, name: str, declarations: Declarations) -> None:
    """Refuse a result or column whose name another has, and needs that nothing makes."""
    from orla.results.base import GIVEN, MADE_BY_RULES  # imports pandas, as all plug-ins do
    from orla.study.tidy import LONG

    results = [*MADE_BY_RULES, *declarations["statistic"]]
    if kind == "statistic" and name in (*MADE_BY_RULES, *GIVEN):
        raise OrlaError(f"{name} is the name of a result that a rule makes; rename it")
    if kind in ("table", "figure"):
        for other in declarations[kind][name]["more"]["needs"]:
            if other not in results:
                raise OrlaError(f'needs "{other}"; {nearest_hint(other, results)}')
    if kind == "probe":
        others = {n: part["more"]["columns"] for n, part in declarations["probe"].items()}
        columns, others["every table"] = others.pop(name), {**KEYS, **LONG, "loss": ""}
        for column in columns:
            if holders := [other for other, its in others.items() if column in its]:
                raise OrlaError(f'its column "{column}" is also of {holders[0]}; rename it')


def describe_parts(kinds: Iterable[str] = tuple(catalogue.KIND_PACKAGES)) -> Declarations:
    """What the classes of these kinds declare; the parts are imported."""
    parts = {kind: catalogue.parts(kind).items() for kind in kinds}
    by_kind = {
        kind: {n: _describe_part(part) for n, part in items} for kind, items in parts.items()
    }
    return json.loads(json.dumps(by_kind))


def specification(
    declarations: Declarations, kind: str, name: str, instances: Mapping[str, Any]
) -> dict[str, Any]:
    """What a name stands for, one of `instances` or a short form, as {kind, options}."""
    if name in instances:
        return dict(instances[name])
    parts = declarations[kind]
    if name in parts:
        if options := parts[name]["schema"]["required"]:
            raise OrlaError(
                f'{kind} "{name}" has no default for "{options[0]}"; name an instance under '
                f'"{SECTIONS[kind]}" that gives it'
            )
        return {"kind": name}
    for base in sorted(parts, key=len, reverse=True):
        short = parts[base]["short"]
        numbers = re.fullmatch(re.escape(base) + r"((?:-[0-9]+)+)", name)
        if numbers and len(values := numbers[1].strip("-").split("-")) == len(short):
            return {"kind": base} | dict(zip(short, map(int, values), strict=True))
    forms = [form for part in parts.values() for form in part["forms"]]
    raise OrlaError(f'{kind} "{name}" is unknown; {nearest_hint(name, [*instances, *forms])}')


def job_parts(job: Mapping[str, Any], declarations: Declarations) -> list[tuple[str, str]]:
    """(kind, name or short form) of every part that a job's result depends on."""
    specs = [("architecture", job["network"])]
    specs += [(kind, job[kind]) for kind in ("learner", "optimizer", "start")]
    specs += [("learner", spec) for spec in job["observers"].values()]
    specs += [(kind, spec) for kind in ("intervention", "probe") for spec in job[f"{kind}s"]]
    return sorted({*expand_parts(specs, declarations)})


def expand_parts(
    specs: Iterable[tuple[str, str | Mapping[str, Any]]], declarations: Declarations
) -> list[tuple[str, str]]:
    """(kind, name or short form) of parts, and of the parts in their list options."""
    parts = []
    for kind, spec in specs:
        if isinstance(spec, str):
            parts.append((kind, spec))
            continue
        parts.append((kind, spec["kind"]))
        for option, inner_kind in declarations[kind][spec["kind"]]["lists"].items():
            inner = ((inner_kind, entry) for entry in spec.get(option, ()))
            parts += expand_parts(inner, declarations)
    return parts


def _describe_part(part: type[Any]) -> dict[str, Any]:
    _refuse_incomplete_class(part)
    schema = fields_schema(part, options_of(part))
    return {
        **dataclasses.asdict(part.part),
        "forms": catalogue.short_form_templates(part),
        "defaults": dict(_plain_defaults(defaults_of(part))),
        "schema": schema,
        "lists": lists_of_parts(part),
        "files": file_options(part),
        "doc": (part.__doc__ or "").strip().partition("\n")[0],
        "needs_files": bool(getattr(part, "needs_files", False)),
        "split_names": None if schema["required"] or part.kind != "task" else part().split_names(),
    }


def _plain_defaults(defaults: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Defaults as a config would give them: one value, or a mapping of options."""
    for name, value in defaults.items():
        if isinstance(value, (str, int, float, bool, type(None))):
            yield name, value
        elif dataclasses.is_dataclass(value):
            yield name, dataclasses.asdict(value)


def _refuse_incomplete_class(part: type[Any]) -> None:
    """Refuse options in a class that is no dataclass, and abstract methods that it lacks."""
    place = f"{sys.modules[part.__module__].__file__}: {part.kind} {part.part.name}"
    for owner in part.__mro__:
        for name, value in vars(owner).items():
            if isinstance(value, dataclasses.Field):
                raise OrlaError(
                    f'{place}: {owner.__name__} has the option "{name}" and is no dataclass; '
                    "write @dataclass(frozen=True) above the class"
                )
    if inspect.isabstract(part):
        methods = " and ".join(sorted(part.__abstractmethods__))
        raise OrlaError(f"{place}: {part.__name__} does not give {methods}; add it to the class")
