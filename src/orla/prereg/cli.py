"""``python -m orla prereg``: lock registrations and verify their locks."""

import argparse
from pathlib import Path

import pyarrow.parquet

from orla import catalogue
from orla.prereg import lock, registration
from orla.results.base import columns as declared


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``prereg lock FILE...`` and ``prereg verify`` to a program's subcommands."""
    parser = subparsers.add_parser("prereg", help="lock registrations and verify their locks")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    locking = commands.add_parser("lock", help="add registrations to LOCK, with today's date")
    locking.add_argument("files", nargs="+", type=Path, metavar="FILE")
    locking.set_defaults(run=_lock)
    verifying = commands.add_parser("verify", help="check every registration against its lock")
    verifying.set_defaults(run=_verify)
    for command in (locking, verifying):
        command.add_argument("--folder", type=Path, default=Path("prereg"), help="default: prereg")
        command.add_argument(
            "--results", type=Path, default=Path("results"), help="default: results"
        )
        command.add_argument(
            "--plugins", type=Path, nargs="+", default=[], help="folders of further statistics"
        )


def _lock(arguments: argparse.Namespace) -> None:
    columns = _columns(arguments)
    for path in arguments.files:
        registration.check_columns(registration.read(path), columns)
    for line in lock.write(arguments.folder, arguments.files):
        print(f"locked {line.file} {line.sha256} {line.date}")


def _verify(arguments: argparse.Namespace) -> None:
    locks = lock.verify(arguments.folder)
    columns = _columns(arguments)
    for known in registration.read_all(arguments.folder):
        registration.check_columns(known, columns)
        line = locks[known.name]
        print(f"{line.date} {known.name}{' (amended)' if line.amended else ''}")


def _columns(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Result -> its columns: all statistics, and the tables in the folder of results."""
    catalogue.use_plugins(arguments.plugins)
    return {
        path.stem: pyarrow.parquet.read_schema(path).names
        for path in arguments.results.glob("*.parquet")
    } | declared()
