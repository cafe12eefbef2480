"""Registrations and amendments as YAML: parsed, and checked against their schema."""

import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.prereg.rules.base import rules
from orla.schema import validate

# The same loader in C, ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path: Path, kind: str) -> dict[str, Any]:
    """Read a YAML document and check it; a `date`, bare or quoted, is returned as ISO text.

    Args:
        path: The document.
        kind: A schema of ``schemas.yaml``, such as "version-2".

    Raises:
        OrlaError: The file is missing, is no YAML, does not fit the schema, or holds a `date` that
            the calendar does not have.
    """
    document = parse(path)
    if isinstance(document, dict) and isinstance(document.get("date"), datetime.date):
        document["date"] = document["date"].isoformat()
    validate(document, schema(kind), str(path))
    if "date" in document:
        day(document["date"], f'{path}: "date"')
    return document


def schema(kind: str) -> dict[str, Any]:
    """The JSON schema of a kind of document, with the numbers of every rule in `claim`."""
    schemas = _schemas()
    found = {**schemas[kind], "$defs": schemas["$defs"]}
    if claim := found["properties"].get("claim"):
        by_name = {name: dict(rule.schema) for name, rule in rules().items()}
        found["properties"] = {**found["properties"], "claim": {**claim, "properties": by_name}}
    return found


@cache
def _schemas() -> dict[str, Any]:
    return parse(Path(__file__).with_name("schemas.yaml"))


def day(text: str, name: str) -> datetime.date:
    """Read an ISO date; `name` names it in an error."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise OrlaError(f"{name} is {text}, not a date; write it as 2026-11-21") from None


def parse(path: Path) -> Any:
    """Read a YAML file without a check against a schema.

    Raises:
        OrlaError: The file is missing, is not UTF-8, or is no YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return yaml.load(text, Loader=_LOADER)
    except FileNotFoundError:
        raise OrlaError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError:
        raise OrlaError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except yaml.YAMLError:
        raise OrlaError(f"{path}: not valid YAML{_where(text)}; mend the syntax there") from None


def _where(text: str) -> str:
    """The line that is no YAML; the loader in C may name one after the last."""
    try:
        yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        return f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
    except yaml.YAMLError:
        pass
    return ""
