"""``python -m orla schema``: the schema of a config, for people and editors to read."""

import argparse
import json
from pathlib import Path

import yaml

from orla.files import atomic
from orla.study.config_schema import config_schema
from orla.study.declared import declared

_HEAD = "# Made of what parts declare, by: python -m orla schema\n"


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``schema`` to a program's subcommands."""
    parser = subparsers.add_parser("schema", help="write the schema of the config")
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("workflow/schemas/config.schema.yaml"),
        help="default: %(default)s",
    )
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> None:
    plain = json.loads(json.dumps(config_schema(declared())))  # without anchors for what is shared
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)
    with atomic(arguments.file) as partial:
        partial.write_text(_HEAD + text, encoding="utf-8")
