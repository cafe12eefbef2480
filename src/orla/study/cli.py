"""``python -m orla schema``: what parts declare and the schema of the config, for all to read."""

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

from orla.catalogue.written import FILE, written
from orla.files import atomic
from orla.study import fitting
from orla.study.config_schema import config_schema
from orla.study.declared import described

_HEAD = "# Made of what parts declare, by: python -m orla schema\n"


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``schema`` to a program's subcommands."""
    parser = subparsers.add_parser("schema", help="write declarations and the config's schema")
    files = {"file": Path("workflow/schemas/config.schema.yaml"), "declarations": FILE}
    for name, path in files.items():
        parser.add_argument(name, nargs="?", type=Path, default=path, help="default: %(default)s")
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> None:
    from orla.engine import memory_table

    parts = described()
    schema = json.loads(json.dumps(config_schema(parts)))  # without anchors for what is shared
    text = yaml.safe_dump(schema, sort_keys=False, allow_unicode=True, width=100)
    _write(arguments.file, _HEAD + text)
    entries = {"parts": parts, "memory": memory_table.of_parts(), "fits": []}
    _write(arguments.declarations, _lines(entries))
    written.cache_clear()  # the plans are made with what has just been written
    _write(arguments.declarations, _lines(entries | {"fits": _fits()}))


def _write(file: Path, text: str) -> None:
    with atomic(file) as partial:
        partial.write_text(text, encoding="utf-8")


def _fits() -> list[str]:
    """The questions of config.yaml and of it with each overlay that find no refusal."""
    from orla.prereg.binding import plan_of

    configs = [[], *([overlay] for overlay in Path("config").glob("*.yaml"))]
    asked = {question for config in configs for question in fitting.questions(plan_of(config))}
    answers = zip(asked, fitting.answers(asked), strict=True)
    return sorted(fitting.digest(q) for q, refusal in answers if refusal is None)


def _lines(value: Any, depth: int = 3) -> str:
    """JSON with a line for each part."""
    if not depth or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = (f"{json.dumps(key)}: {_lines(one, depth - 1)}" for key, one in value.items())
    return "{\n" + ",\n".join(inner) + "\n}" + "\n" * (depth == 3)
