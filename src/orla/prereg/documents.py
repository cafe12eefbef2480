"""Registrations and amendments as YAML: parsed, and checked against their schema."""

import datetime
from functools import cache
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg.rules import rules_by_name
from orla.schema import expand_short, validate
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
    schema = expand_short(_short_schemas()[kind])
    if claim := schema["properties"].get("claim"):
        claim["properties"] = {name: dict(rule.schema) for name, rule in rules_by_name().items()}
    return schema


@cache
def _short_schemas() -> dict[str, Any]:
    return read_yaml(Path(__file__).with_name("schemas.yaml"))


def parse_date(text: str, name: str) -> datetime.date:
    """Read an ISO date; `name` names it in an error."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise OrlaError(f"{name} is {text}, not a date; write it as 2026-11-21") from None
