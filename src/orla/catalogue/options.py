"""Options, the fields of parts and settings that a config sets: their schema, checks and values."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from orla.errors import OrlaError
from orla.schema import validate


def option(
    default: Any = dataclasses.MISSING,
    text: str = "",
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: Sequence[Any] | None = None,
    parts: str = "",
    is_file: bool = False,
) -> Any:
    """A field of a part that a config may set; without a default it must.

    TypeError for a default that the limits forbid. `least` and `most` belong to the range, `above`
    does not. Of a list of `parts` of a kind, short forms or mappings that the part makes by
    `catalogue.make`, they bound the length. What a job reads of a task's option that `is_file` is
    made anew when the file changes.
    """
    limits = {"minimum": least, "maximum": most, "exclusiveMinimum": above}
    if parts:
        limits = {"minItems": least, "maxItems": most}
    limits["enum"] = None if choices is None else list(choices)
    meta = {"text": text, "limits": {k: v for k, v in limits.items() if v is not None}}
    meta |= {"parts": parts, "is_file": is_file}
    if default not in (None, dataclasses.MISSING):
        try:
            validate(default, meta["limits"], "its default")
        except OrlaError:
            raise TypeError(
                f"option {text!r}: its own limits forbid its default {default!r}"
            ) from None
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


def options_of(part: type[Any]) -> list[dataclasses.Field]:
    """The fields of a part that were made by `option`."""
    if not dataclasses.is_dataclass(part):
        return []
    return [f for f in dataclasses.fields(part) if "limits" in f.metadata]


def defaults_of(part: type[Any]) -> dict[str, Any]:
    """The default of each option that has one."""
    defaults = {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in options_of(part)
    }
    return {name: value for name, value in defaults.items() if value is not dataclasses.MISSING}


def lists_of_parts(part: type[Any]) -> dict[str, str]:
    """The options of a part that are lists of parts, and the kind of these."""
    return {f.name: f.metadata["parts"] for f in options_of(part) if f.metadata["parts"]}


def file_options(part: type[Any]) -> list[str]:
    """The options of a part that name a file."""
    return [f.name for f in options_of(part) if f.metadata["is_file"]]


# A list of parts, of which `study.config_schema` says more: which names and options there are.
_PARTS = {"type": "array", "items": {"type": ["string", "object"], "required": ["kind"]}}

_TYPES = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    dict: "object",
    list: "array",
    tuple: "array",
    type(None): "null",
}


def option_schema(part: type[Any], f: dataclasses.Field) -> dict[str, Any]:
    """The JSON schema of one option, from its type, bounds and text."""
    text = {"description": f.metadata["text"]} if "text" in f.metadata else {}
    hint = get_type_hints(part).get(f.name, Any)
    schema = copy.deepcopy(_PARTS) if f.metadata.get("parts") else _type_schema(hint)
    return text | schema | dict(f.metadata.get("limits", {}))


def _type_schema(hint: Any) -> dict[str, Any]:
    """The JSON schema of the values of a type hint."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [_type_schema(a) for a in arguments]}
    if dataclasses.is_dataclass(hint):
        text = " ".join((hint.__doc__ or "").split("\n\n")[0].split())
        return fields_schema(hint, dataclasses.fields(hint), description=text)
    kind = _TYPES.get(origin or hint)
    schema = {"type": kind} if kind else {}
    if kind == "array" and arguments:
        schema["items"] = _type_schema(arguments[0])
    elif kind == "object" and arguments:
        schema["additionalProperties"] = _type_schema(arguments[1])
    return schema


def fields_schema(
    part: type[Any], fields: Sequence[dataclasses.Field], **keywords: str
) -> dict[str, Any]:
    """The JSON schema of a mapping that gives these fields; `keywords` are further keywords."""
    required_fields = (f for f in fields if f.default is f.default_factory is dataclasses.MISSING)
    return {
        "type": "object",
        **keywords,
        "additionalProperties": False,
        "properties": {f.name: option_schema(part, f) for f in fields},
        "required": [f.name for f in required_fields],
    }


def parse_settings(kind: type[Any], mapping: Any, name: str) -> Any:
    """Settings of a dataclass from a mapping, or as they are; errors name `name`."""
    if isinstance(mapping, kind):
        return mapping
    validate(mapping, _type_schema(kind), name)
    return _plain_to_type(kind, mapping)


def parse_options(part: type[Any], mapping: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The checked options of a part, converted to their types: 1 to 1.0, a list to a tuple."""
    validate(mapping, fields_schema(part, options_of(part)), name)
    hints = get_type_hints(part) if mapping else {}
    options = {}
    for key, value in mapping.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise OrlaError(f'{name}: "{key}" is {value}; give a finite number')
        plain = get_origin(hints[key]) or hints[key]
        options[key] = (
            plain(value) if plain in (float, tuple) else _plain_to_type(hints[key], value)
        )
    return options


def _plain_to_type(hint: Any, plain: Any) -> Any:
    """A value of a config; mappings become dataclasses where the type hint says so."""
    if dataclasses.is_dataclass(hint) and isinstance(plain, Mapping):
        hints = get_type_hints(hint)
        return hint(**{name: _plain_to_type(hints[name], value) for name, value in plain.items()})
    if get_origin(hint) is dict and isinstance(plain, Mapping):
        return {name: _plain_to_type(get_args(hint)[1], value) for name, value in plain.items()}
    return plain
