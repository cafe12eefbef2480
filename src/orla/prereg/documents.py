"""Registrations and amendments as YAML: parsed, and checked against their schema."""

import datetime
from functools import cache
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg.rules import rules_by_name
from orla.schema import validate
from orla.yaml_files import read_yaml


def load_document(path: Path, kind: str) -> dict[str, Any]:
    """Read a document of a `kind` and check it (OrlaError); a `date` is returned as ISO text."""
    document = read_yaml(path)
    if isinstance(document, dict) and isinstance(document.get("date"), datetime.date):
        document["date"] = document["date"].isoformat()
    validate(document, document_schema(kind), str(path))
    if "date" in document:
        parse_date(document["date"], f'{path}: "date"')
    return document


def document_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of a kind of document, with the numbers of every rule in `claim`."""
    schemas = _expand_schema(_short_schemas())
    full_schema = schemas[kind] | {"$defs": schemas["$defs"]}
    if claim := full_schema["properties"].get("claim"):
        claim["properties"] = {name: dict(rule.schema) for name, rule in rules_by_name().items()}
    return full_schema


@cache
def _short_schemas() -> dict[str, Any]:
    return read_yaml(Path(__file__).with_name("schemas.yaml"))


def _expand_schema(part: Any) -> Any:
    """A part of ``schemas.yaml`` as JSON schema has it; the file says what it leaves out."""
    if not isinstance(part, dict):
        return part
    part = {name: _expand_schema(each) for name, each in part.items()}
    for name in {"items", "additionalProperties"} & set(part):
        part[name] = _as_reference(part[name])
    if "oneOf" in part:
        part["oneOf"] = [_as_reference(_expand_schema(each)) for each in part["oneOf"]]
    if isinstance(optional := part.pop("optional", None), list):
        part["properties"] = {
            name: _as_reference(each) for name, each in part["properties"].items()
        }
        names = [name for name in part["properties"] if name not in optional]
        part |= {"type": "object", "additionalProperties": False, "required": names}
    return part


def _as_reference(part: Any) -> Any:
    """A name as a reference to a definition of the schema; anything else as it is."""
    return {"$ref": f"#/$defs/{part}"} if isinstance(part, str) else part


def parse_date(text: str, name: str) -> datetime.date:
    """Read an ISO date; `name` names it in an error."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise OrlaError(f"{name} is {text}, not a date; write it as 2026-11-21") from None
