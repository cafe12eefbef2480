"""Registrations and amendments as YAML: parsed, and checked against their schema."""

import datetime
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.schema import validate

# The same loader in C, ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

SCHEMAS = Path(__file__).parents[3] / "workflow" / "schemas"


def load(path: Path, schema: Path) -> dict[str, Any]:
    """Read a YAML document and check it against a JSON schema that is written as YAML.

    Parameters
    ----------
    path
        The document. Dates may be written bare or quoted; they are returned as ISO text.
    schema
        The schema.

    Raises
    ------
    OrlaError
        When the file is missing, is no YAML, does not fit the schema, or holds a `date` that
        the calendar does not have.
    """
    document = parse(path)
    if isinstance(document, dict) and isinstance(document.get("date"), datetime.date):
        document["date"] = document["date"].isoformat()
    validate(document, parse(schema), str(path))
    if "date" in document:
        day(document["date"], f'{path}: "date"')
    return document


def day(text: str, name: str) -> datetime.date:
    """Read an ISO date; `name` names it in an error."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise OrlaError(f"{name} is {text}, not a date; write it as 2026-11-21") from None


def parse(path: Path) -> Any:
    """Read a YAML file without a check against a schema.

    Raises
    ------
    OrlaError
        When the file is missing, is not UTF-8, or is no YAML.
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
