"""The schema of a config: its keys, from a file, and the options that parts declare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from orla.study.declared import Declared
from orla.study.keys import KEYS
from orla.study.plan import SECTIONS

_FILE = Path(__file__).with_name("config.schema.yaml")
# A name that becomes part of a path.
_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"


def config_schema(parts: Declared) -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a config that may name these parts."""
    short = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | _written_out(short, parts)


def _written_out(schema: Any, parts: Declared) -> Any:
    """A schema of the file in full, as the file's first lines say."""
    if isinstance(schema, list):
        return [_written_out(one, parts) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "instances" in schema:
        return _instances(schema["instances"], parts)
    full = {key: _written_out(value, parts) for key, value in schema.items()}
    if "part" in full:
        full |= _part(full.pop("part"), parts)
    text, optional = full.pop("keys", None), full.pop("optional", ())
    if text:
        named = {key: text.format(key=key) for key in KEYS if key != "pair"}
        word = {"type": "string", "minLength": 1}
        of_keys = {key: {"description": said} | word for key, said in named.items()}
        full["properties"] = full["properties"] | of_keys
    if "properties" in full:
        required = [name for name in full["properties"] if name not in optional]
        full = {"type": "object", "additionalProperties": False, "required": required} | full
    return {"description": full.pop("description"), **full} if "description" in full else full


def _instances(kind: str, parts: Declared) -> dict[str, Any]:
    """A section that names instances: each a mapping with ``kind`` and that part's options."""
    known = parts[kind]
    choices = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": part["schema"]
            | {"properties": {"kind": {"description": part["doc"]}, **_options(part, parts)}},
        }
        for name, part in known.items()
    ]
    one = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"description": f"The {kind}.", "enum": list(known)}},
        "allOf": choices,
    }
    return {
        "description": f"Instances of {SECTIONS[kind]} by name: the kind and its options.",
        "type": "object",
        "propertyNames": {"pattern": _NAME},
        "additionalProperties": one,
    }


def _options(part: Mapping[str, Any], parts: Declared) -> dict[str, Any]:
    """The schemas of a part's options; the entries of a list of parts are checked as instances."""
    lists = {option: {"items": _part(kind, parts)} for option, kind in part["lists"].items()}
    schemas = part["schema"]["properties"]
    return {option: schema | lists.get(option, {}) for option, schema in schemas.items()}


def _part(kind: str, parts: Declared) -> dict[str, Any]:
    """A part of a kind: a short form, or a mapping that is checked as an instance."""
    forms = []
    for name, part in parts[kind].items():
        numbers = "-[0-9]+" * len(part["short"])
        forms.append(re.escape(name) + (f"({numbers})?" if numbers else ""))
    return {
        "type": ["string", "object"],
        "pattern": f"^({'|'.join(forms)})$",
        "examples": [form for part in parts[kind].values() for form in part["forms"]],
        "if": {"type": "object"},
        "then": {"$ref": f"#/properties/{SECTIONS[kind]}/additionalProperties"},
    }
