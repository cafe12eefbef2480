"""``orla``, or ``python -m orla``: the command line. Each package adds its own commands."""

import argparse
import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; an `OrlaError` ends it with one line and exit status 1."""
    try:
        _run_command([*(sys.argv[1:] if arguments is None else arguments)])
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # as of: orla show | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(words: Sequence[str]) -> None:
    """Parse the words of a command line, and run the command that they name."""
    from orla.command import cli as command
    from orla.errors import exit_in_one_line
    from orla.gradients import cli as gradients
    from orla.prereg import cli as prereg
    from orla.provenance import archive
    from orla.study import cli as schema

    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="orla",
        description="From two recordings to a judged page: orla new, inspect, plan, run, show.",
        epilog="What stands after -- is given to Snakemake as it is.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for room in (command, prereg, gradients, schema, archive):
        room.add_commands(subparsers)
    namespace = parser.parse_args(words[:at], argparse.Namespace(options=words[at + 1 :]))
    with exit_in_one_line():
        namespace.run(namespace)


if __name__ == "__main__":
    main()
