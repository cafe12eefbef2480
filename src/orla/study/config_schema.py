"""The schema of a config: its keys, from a file, and the options that parts declare."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from orla.schema import expand_short
from orla.study.declarations import SECTIONS, Declarations
from orla.study.keys import KEYS
from orla.yaml_files import read_yaml

_FILE = Path(__file__).with_name("config.schema.yaml")
# A name that becomes part of a path.
_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,79}$"


def config_schema(parts: Declarations) -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a config that may name these parts."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | expand_short(read_yaml(_FILE), partial(_expand_short_piece, parts=parts))


def _expand_short_piece(piece: dict[str, Any], parts: Declarations) -> dict[str, Any]:
    """A piece of config.schema.yaml as JSON schema: `instances`, `part` and `keys` expanded."""
    if "instances" in piece:
        return _instances_schema(piece["instances"], parts)
    if "part" in piece:
        piece |= _part_schema(piece.pop("part"), parts)
    if text := piece.pop("keys", None):
        word = {"type": "string", "minLength": 1}
        keys = {k: {"description": text.format(key=k)} | word for k in KEYS if k != "pair"}
        piece["properties"] = piece["properties"] | keys
    return piece


def _instances_schema(kind: str, parts: Declarations) -> dict[str, Any]:
    """A section that names instances: each a mapping with ``kind`` and that part's options."""
    choices = []
    for name, part in parts[kind].items():
        options = {"kind": {"description": part["doc"]}} | part["schema"]["properties"]
        for option, inner_kind in part["lists"].items():  # whose entries are checked as instances
            options[option] = options[option] | {"items": _part_schema(inner_kind, parts)}
        condition = {"properties": {"kind": {"const": name}}, "required": ["kind"]}
        choices.append({"if": condition, "then": part["schema"] | {"properties": options}})
    return {
        "description": f"Instances of {SECTIONS[kind]} by name: the kind and its options.",
        "type": "object",
        "propertyNames": {"pattern": _NAME},
        "additionalProperties": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"description": f"The {kind}.", "enum": list(parts[kind])}},
            "allOf": choices,
        },
    }


def _part_schema(kind: str, parts: Declarations) -> dict[str, Any]:
    """A part of a kind: a short form, or a mapping that is checked as an instance."""
    forms = [
        re.escape(name) + (f"({'-[0-9]+' * len(part['short'])})?" if part["short"] else "")
        for name, part in parts[kind].items()
    ]
    return {
        "type": ["string", "object"],
        "pattern": f"^({'|'.join(forms)})$",
        "examples": [form for part in parts[kind].values() for form in part["forms"]],
        "if": {"type": "object"},
        "then": {"$ref": f"#/properties/{SECTIONS[kind]}/additionalProperties"},
    }
