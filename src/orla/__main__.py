"""``python -m orla``: the command line. Each package adds its own commands."""

import argparse
from collections.abc import Sequence

from orla.errors import one_line
from orla.gradients import cli as gradients
from orla.prereg import cli as prereg
from orla.provenance import archive
from orla.study import cli as schema


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; an `OrlaError` ends it with one line and exit status 1."""
    parser = argparse.ArgumentParser(prog="orla", description="Tools beside the workflow.")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    prereg.add_commands(subparsers)
    gradients.add_commands(subparsers)
    schema.add_commands(subparsers)
    archive.add_commands(subparsers)
    parsed = parser.parse_args(arguments)
    with one_line():
        parsed.run(parsed)


if __name__ == "__main__":
    main()
