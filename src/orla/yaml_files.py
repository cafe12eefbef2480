"""YAML that a user writes by hand: read, with everything refused that he cannot have meant."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.files import MOST_TEXT, read_file

# The same loader in C, ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_FLOAT, _INT = "tag:yaml.org,2002:float", "tag:yaml.org,2002:int"
_LEADING_ZERO = re.compile("[-+]?0[0-9_]+")
_DEEPEST, _MOST_NODES = 50, 100_000


def read_yaml(path: Path) -> Any:
    """Read a YAML file without a check against a schema; refused is what `parse_yaml` refuses."""
    try:
        text = read_file(path, MOST_TEXT).decode()
    except UnicodeDecodeError:
        raise OrlaError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """Read YAML that an error calls `name`.

    Refused (OrlaError) are a key that stands twice or is no text, NaN, a number with a leading
    zero, and what could be endless.
    """
    try:
        _check_depth(name, text)
        loader = _LOADER(text)
        if (root := loader.get_single_node()) is None:
            return None
        _check_nodes(name, root, loader)
        return loader.construct_document(root)
    except yaml.YAMLError:
        raise OrlaError(
            f"{name}: not valid YAML{_yaml_error_location(text)}; mend the syntax there"
        ) from None
    except (AttributeError, TypeError, ValueError) as error:  # of a date, a number, a time
        raise OrlaError(f"{name}: a value cannot be read ({error}); mend it") from None


def _check_depth(name: str, text: str) -> None:
    """Refuse what is nested too deep for a loader that calls itself; it may end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            line = event.start_mark.line + 1
            raise OrlaError(f"{name}: nested more than {_DEEPEST} deep at line {line}; flatten it")


def _check_nodes(name: str, root: yaml.Node, loader: yaml.SafeLoader) -> None:
    """Refuse keys that stand twice or are no text, aliases that make a file endless, and NaN."""
    stack, count = [(root, 0)], 0
    while stack:
        node, depth = stack.pop()
        count, line = count + 1, node.start_mark.line + 1
        if depth > _DEEPEST or count > _MOST_NODES:
            raise OrlaError(f"{name}: aliases (*) make it endless or huge, at line {line}")
        if node.tag == _FLOAT and not math.isfinite(loader.construct_object(node)):
            raise OrlaError(f"{name}: {node.value} at line {line} is no finite number; give one")
        if node.tag == _INT and _LEADING_ZERO.fullmatch(node.value):
            number = loader.construct_object(node)
            raise OrlaError(
                f"{name}: YAML reads {node.value} at line {line} as {number}; leave the leading "
                "zero out, or put a name in quotes"
            )
        inner = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            _check_keys(name, [key for key, _ in inner])
            inner = [value for _, value in inner]
        stack += [(each, depth + 1) for each in inner]


def _check_keys(name: str, keys: list[yaml.Node]) -> None:
    """Refuse keys of one mapping that stand twice or are no text."""
    texts: set[str] = set()
    for key in keys:
        line, text = key.start_mark.line + 1, str(key.value)
        if key.tag not in (_TEXT, _MERGE):
            mend = f'write "{text}"' if isinstance(key, yaml.ScalarNode) else "name it"
            raise OrlaError(f"{name}: a key at line {line} is no text; {mend}")
        if text in texts:
            again = f'"{text}" stands twice, again at line {line}'
            raise OrlaError(f"{name}: {again}; remove one of them")
        texts.add(text)


def _yaml_error_location(text: str) -> str:
    """ " at line N", the line that is no YAML; the loader in C may name one after the last."""
    try:
        yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        if mark := getattr(error, "problem_mark", None):
            return f" at line {mark.line + 1}"
    return ""
