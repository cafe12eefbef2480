"""``python -m orla gradients``: a learner's gradients with frozen weights, as an .npz file."""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path
from typing import Any

import yaml

from orla import catalogue

_DESCRIPTION = """\
Write the gradient of every update that LEARNER makes on a stream, with frozen weights.

weights: an .npz with the parameters by name, W_ih (gates, in), W_hh (gates, hidden), b_h (gates),
W_out (out, hidden), b_out (out). An RNN has as many gates as hidden units; an LSTM four times as
many, in the order input, forget, cell, output. Another architecture has the names that it declares.
An architecture or learner that needs options is given as in a config: "{kind: s4, modes: 4}".
stream: an .npz with X (steps, in), Y (steps, out). The state starts at zero. The loss of a step is
the mean over the outputs of the squared error.

out: an .npz with one array a parameter, (steps, *shape). Learners with a window make one update
every so many steps: there the first axis is the update, and the gradient is that of the summed
losses of its steps. The array "step" holds the last
step of each update, counted from 0. Steps that do not fill a last update are passed over.
Parameters that the learner leaves alone are absent. All of it stands in memory at the end: steps
times parameters times 8 bytes.
"""


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``gradients`` to a program's subcommands."""
    parser = subparsers.add_parser(
        "gradients",
        help="write a learner's gradients with frozen weights",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = {
        "architecture": "one of those listed below",
        "learner": "likewise; capitals are numbers",
    }
    for name, text in parts.items():
        parser.add_argument(f"--{name}", required=True, type=_parse_part, help=text)
    for name in ("weights", "stream", "out"):
        parser.add_argument(f"--{name}", required=True, type=Path, metavar="NPZ")
    parser.add_argument(
        "--precision", default="float64", choices=["float64", "float32"], help="default: float64"
    )
    parser.set_defaults(run=_run)
    parser.format_help = functools.partial(_help_text, parser)


def _parse_part(text: str) -> str | dict[str, Any]:
    """A part's name, or its kind and options from YAML in braces."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        mapping = yaml.safe_load(text)
    except yaml.YAMLError:
        mapping = None
    if not isinstance(mapping, dict) or "kind" not in mapping:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name and no mapping like '{{kind: NAME, OPTION: VALUE}}'"
        )
    return mapping


def _help_text(parser: argparse.ArgumentParser) -> str:
    """The help of the command, with the names of all architectures and learners."""
    # Only where help is asked for: the catalogue loads PyTorch, which takes seconds.
    names = {f"{kind}s": catalogue.all_short_forms(kind) for kind in ("architecture", "learner")}
    parser.epilog = "\n".join(f"{kind}: {', '.join(forms)}" for kind, forms in names.items())
    return argparse.ArgumentParser.format_help(parser)


def _run(arguments: argparse.Namespace) -> None:
    # PyTorch takes seconds to load, and the other commands do without it.
    from orla import progress
    from orla.engine.state import PRECISIONS
    from orla.gradients import frozen
    from orla.programs.compiling import configure

    configure(compile=False)
    X, Y = frozen.read_stream(arguments.stream)
    sizes, dtype = (X.shape[1], Y.shape[1]), PRECISIONS[arguments.precision]
    network, params = frozen.read_weights(arguments.weights, arguments.architecture, *sizes, dtype)
    rule = catalogue.make("learner", arguments.learner, architecture=network)
    with progress.bar(len(X), f"gradients of {rule.part.name}", "step") as bar:
        arrays = frozen.gradients(rule, params, X, Y, on_steps=bar.update)
    frozen.write_npz(arguments.out, arrays)
    if remainder := len(X) % rule.stride:
        print(f"the last {remainder} steps fill no update and were passed over", file=sys.stderr)
