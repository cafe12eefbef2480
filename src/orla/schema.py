"""Checks of documents (config, registrations) against a JSON schema, one line on a mistake."""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend

from orla.errors import OrlaError

_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
}
_BOUNDS = {"minimum": "at least", "maximum": "at most"}
_BOUNDS |= {"exclusiveMinimum": "greater than", "exclusiveMaximum": "less than"}
# JSON schema takes 12.0 for an integer; code that counts with it does not.
_CHECKER = Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
_Validator = extend(Draft202012Validator, type_checker=_CHECKER)
# Of more valid words than this an error tells the first.
_MOST_NAMES = 20


def validate(document: Any, schema: Mapping[str, Any], name: str) -> None:
    """Refuse (OrlaError) a document on its first mistake against a JSON schema (draft 2020-12).

    A misspelt key is named before any other mistake. `name` is the document's in the message.
    """
    errors = sorted(
        _Validator(schema).iter_errors(document),
        key=lambda error: (error.validator != "additionalProperties", list(map(str, error.path))),
    )
    if errors:
        raise OrlaError(f"{name}: {_error_message(errors[0])}")


def expand_short(schema: Any, extend: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> Any:
    """JSON schema of a short form, in which each schema with `properties` is a closed mapping.

    It requires those under `required`, else all but those under `optional`. `extend` replaces what
    else is short in a mapping whose entries are expanded.
    """
    if isinstance(schema, list):
        return [expand_short(item, extend) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    full = extend({key: expand_short(value, extend) for key, value in schema.items()})
    optional = full.pop("optional", ())
    if "properties" in full:
        required = [name for name in full["properties"] if name not in optional]
        full = {"type": "object", "additionalProperties": False, "required": required} | full
    return {"description": full.pop("description"), **full} if "description" in full else full


def nearest_hint(word: str, valid: Iterable[str]) -> str:
    """``the nearest is "x"``, or the valid words, the first of many, where none is near."""
    valid = [str(v) for v in valid]
    near = difflib.get_close_matches(word, valid, n=1, cutoff=0.5)
    if near:
        return f'the nearest is "{near[0]}"'
    if not valid:
        return "none is allowed here"
    more = f" and {len(valid) - _MOST_NAMES} more" if len(valid) > _MOST_NAMES else ""
    return "there are " + ", ".join(f'"{v}"' for v in valid[:_MOST_NAMES]) + more


def require_one_of(place: str, name: str, choices: Iterable[str], where: str = "") -> None:
    """Raise OrlaError, with the nearest, where a name at a place of the config is not known."""
    if name not in choices:
        raise OrlaError(
            f'config: "{place}" cannot be "{name}"{where}; {nearest_hint(name, choices)}'
        )


def _error_message(error: ValidationError) -> str:
    """What is wrong, and what to do, in one line."""
    key = _dotted_key(error.absolute_path)
    at = f'"{key}"' if key else "the document"
    expected, given = error.validator_value, _short_json(error.instance)
    if error.validator in ("anyOf", "oneOf"):
        if error.context:
            return _error_message(_alternative(error))
        keys = " or ".join(part["required"][0] for part in expected if "required" in part)
        return f"{at} is of several kinds at once; give one of {keys}, and {key} another name"
    match error.validator:
        case "additionalProperties":
            return _unknown_key(error, key)
        case "required":
            absent = next(k for k in expected if k not in error.instance)
            return f'"{key + "." if key else ""}{absent}" is missing; add it'
        case "type":
            kinds = [expected] if isinstance(expected, str) else expected
            words = " or ".join(_WORDS[kind] for kind in kinds)
            return f"{at} must be {words}, not {given}{_yaml_hint(error, kinds)}"
        case bound if bound in _BOUNDS:
            return f"{at} must be {_BOUNDS[bound]} {expected}, not {given}"
        case "pattern" if "examples" not in error.schema:
            return f"{at} must match {expected}, which {given} does not"
        case "enum" | "pattern":
            words = expected if error.validator == "enum" else error.schema["examples"]
            return f"{at} cannot be {given}; {nearest_hint(str(error.instance), words)}"
        case "minItems":
            return f"{at} must have at least {expected} entries, not {len(error.instance)}"
        case _:
            return f"{at}: {error.message}"


def _alternative(error: ValidationError) -> ValidationError:
    """The mistake to report where none of several schemas fits: the deepest, or the types."""
    deepest = max(error.context, key=lambda inner: len(inner.path))
    inner = deepest if deepest.path else best_match(error.context)
    if all(e.validator == "type" and not e.path for e in error.context):
        kinds = (e.validator_value for e in error.context)
        flat = (k for kind in kinds for k in ([kind] if isinstance(kind, str) else kind))
        inner.validator_value = list(dict.fromkeys(flat))
    return inner


def _unknown_key(error: ValidationError, key: str) -> str:
    """The message of a key that the schema does not know."""
    valid = list(error.schema.get("properties", {}))
    patterns = list(error.schema.get("patternProperties", {}))
    unknown = next(
        k
        for k in error.instance
        if k not in valid and not any(re.search(pattern, k) for pattern in patterns)
    )
    place = f'"{key}.{unknown}"' if key else f'"{unknown}"'
    return f"{place} is not a known key; {nearest_hint(str(unknown), valid)}"


def _dotted_key(path: Iterable[str | int]) -> str:
    """The path to an entry as text, such as "tasks.wave[0]"."""
    key = ""
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key


def _short_json(value: Any) -> str:
    """A value as JSON of 60 characters at most."""
    text = json.dumps(value, default=str, skipkeys=True)
    return text if len(text) <= 60 else text[:57] + "..."


def _yaml_hint(error: ValidationError, kinds: list[str]) -> str:
    """What YAML may have read otherwise than meant, in parentheses; "" for nothing."""
    if "string" in kinds and isinstance(error.instance, (bool, int, float)):
        return " (YAML reads 20160630_01 as a number and off as false: put it in quotes)"
    is_text = isinstance(error.instance, str)
    if not (is_text or isinstance(error.instance, float)) or not {"number", "integer"} & set(kinds):
        return ""
    try:
        value = float(error.instance)
    except ValueError:
        return ""
    if "number" not in kinds:
        whole = value.is_integer() and abs(value) < 2**64
        return f" (write {int(value)})" if whole else ""
    text = repr(value)  # in YAML 1.1 an exponent wants a point before it
    text = text if "." in text else text.replace("e", ".0e")
    return f" (YAML takes this for text: write {text})"
