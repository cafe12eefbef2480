"""``orla new``, ``inspect``, ``plan``, ``run``, ``show`` and ``decoder``."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from orla.command.studies import CONFIG, Study
from orla.errors import OrlaError

_Parsers = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_commands(subparsers: _Parsers) -> None:
    """Add the commands of a study to a program's subcommands."""
    from orla.command.new import SOURCES

    def command(name: str, run: Callable[..., None], words: str) -> argparse.ArgumentParser:
        parser = subparsers.add_parser(name, help=words)
        parser.set_defaults(run=run)
        if run is not _write_study:
            study = "the study's folder"
            parser.add_argument("--directory", type=Path, metavar="FOLDER", help=study)
            files = {"type": Path, "nargs": "+", "default": [], "metavar": "FILE"}
            parser.add_argument("--configfile", help="overlays of its config", **files)
        return parser

    new = command("new", _write_study, "write the folder of a study of two recordings")
    new.add_argument("folder", type=Path, metavar="FOLDER")
    new.add_argument(
        "--from",
        dest="source",
        nargs="+",
        required=True,
        metavar=("SOURCE", "FILE"),
        help=f"{', '.join(SOURCES)}; then session A, to pretrain on, and B, to adapt to",
    )
    new.add_argument("--cursor", help="nwb: the SpatialSeries to decode")
    new.add_argument("--series", choices=("position", "values"), help="nwb: what that series is")
    new.add_argument("--metres-per-unit", type=float, metavar="M", help="nwb: of that series")
    new.add_argument("--inputs", help="binned: the array of inputs")
    new.add_argument("--target", help="binned: the array of targets")
    new.add_argument(
        "--columns",
        choices=("same", "different"),
        help="whether input i is one unit in both files; default: what the files prove",
    )
    new.add_argument(
        "--set",
        dest="assignments",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="another setting by which recordings are read: preparation.least_kept=0.3, "
        "nwb.trials=true, ...",
    )
    words = "the sessions of a study, and whether there is a drift to follow"
    for parser in (
        command("inspect", _inspect_sessions, words),
        command("plan", _print_estimate, "jobs, time, memory and disk of what is to run"),
        command("show", _show_answer, "the answer and verdicts of the last run"),
    ):
        where = "a study's folder, or an overlay of its config"
        parser.add_argument("where", nargs="?", type=Path, metavar="CONFIG", help=where)
    run = command("run", _run_study, "run what is missing; options after -- are Snakemake's")
    words = "default: all; prepared, headline, ..."
    run.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=words)
    decoder = command("decoder", _write_decoder, "write a network of a study for use elsewhere")
    decoder.add_argument("file", type=Path, metavar="FILE", help="the .safetensors file to write")
    words = "TASK[/PAIR]/sweeps/NETWORK/LEARNER/OPTIMIZER/SPLIT, as in the folder of results"
    decoder.add_argument("condition", metavar="CONDITION", help=words)
    decoder.add_argument("--seed", type=int, default=0, help="of the network; default: 0")
    decoder.add_argument("--frozen", action="store_true", help="the network before it adapts")


def _find_study(arguments: argparse.Namespace) -> Study:
    """The study of a command line, whose `where` is its folder or config.yaml, or an overlay."""
    folder, overlays = arguments.directory or Path(), list(arguments.configfile)
    if where := getattr(arguments, "where", None):
        if where.is_dir():
            folder = where
        elif where.name == CONFIG:
            folder = where.parent
        else:
            overlays.insert(0, where)
    files = tuple(overlay.resolve() for overlay in overlays)
    return Study(folder.resolve(), files, tuple(arguments.options))


def _write_study(arguments: argparse.Namespace) -> None:
    from orla.command import files, new

    options = {name: getattr(arguments, name) for name in files.OPTIONS}
    source, *recordings = arguments.source
    pair = files.read_pair(source, recordings, arguments.assignments, **options)
    settings = new.write_study(arguments.folder, pair)
    print(new.next_steps_text(arguments.folder, settings))


def _run_study(arguments: argparse.Namespace) -> None:
    from orla.command.watching import Watch
    from orla.study import forecast
    from orla.study.plan import CONTROLS

    study = _find_study(arguments)
    if not all(map(str.strip, arguments.targets)):
        raise OrlaError("a target has no name; leave it out")
    plan = study.enter_and_plan()
    if study.only_shows:
        sys.exit(study.show_snakemake_output(arguments.targets or ["all"]))
    forecasts = forecast.Forecast(plan, forecast.session_lengths(plan))
    results = plan.config["pathvars"]["results"]
    costs = {f"{results}/{c.path}": forecasts.sweep_cpu_s(c) for c in plan.conditions}
    watch = Watch(study.folder, costs)
    status = study.run(arguments.targets or ["all"], watch)
    if status or "--unlock" in study.options:
        sys.exit(status)
    if watch.is_up_to_date:
        print("Nothing to do: what was asked for is up to date.", file=sys.stderr)
    makes_page = {*arguments.targets} <= {"all", CONTROLS, *plan.chapters.values()}
    if answer := study.read_answer_file(0.0 if makes_page else watch.start_time):
        print(answer, end="")


def _write_decoder(arguments: argparse.Namespace) -> None:
    from orla.decoder import export

    if arguments.file.suffix != ".safetensors":
        raise OrlaError(f"{arguments.file}: a decoder is written as .safetensors; name it so")
    file, plan = arguments.file.resolve(), _find_study(arguments).enter_and_plan()
    what = plan, arguments.condition, file, arguments.seed
    decoder = export.write_decoder(*what, is_frozen=arguments.frozen)
    print(
        f"{file}: {len(decoder.reading.channels)} channels to {len(decoder.mean)} outputs; in "
        f'Python: orla.decoder.Decoder.load("{file.name}")'
    )


def _show_answer(arguments: argparse.Namespace) -> None:
    study = _find_study(arguments)
    if not (answer := study.read_answer_file()):
        raise OrlaError("there is no answer yet; make one with: orla run")
    print(answer, end="")
    if newer := study.files_newer_than_answer():
        print(f"\nThis answer is older than {', '.join(newer)}: orla run brings it up to date.")


def _print_estimate(arguments: argparse.Namespace) -> None:
    from orla.command import plan

    print(plan.estimate_text(plan.estimate_run(_find_study(arguments))))


def _inspect_sessions(arguments: argparse.Namespace) -> None:
    from orla.command.watching import Watch

    study = _find_study(arguments)
    reports = study.folder / study.enter_and_plan().config["pathvars"]["reports"] / "sessions"
    if status := study.run(["inspect"], Watch(study.folder, None)):
        sys.exit(status)
    print((reports / "answer.txt").read_text(encoding="utf-8"))
    print(f"page: {reports / 'index.html'}")
