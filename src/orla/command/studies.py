"""A study's folder, and Snakemake in it: the same workflow that ``snakemake`` itself runs."""

from __future__ import annotations

import argparse
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orla
from orla import processes
from orla.command import logger
from orla.command.watching import Watch
from orla.errors import OrlaError
from orla.study.config import read_plan
from orla.study.plan import Plan

CONFIG = "config.yaml"
_LOG = Path(".snakemake/log/orla.log")
# Seconds that a stopped run has to end its jobs.
_PATIENCE_S = 20.0
INTERRUPTED = 130
# Options with which Snakemake runs nothing.
_SHOWS = {
    "-n", "--dry-run", "--dryrun", "--dag", "--rulegraph", "--filegraph", "--summary", "-S",
    "--detailed-summary", "-D", "--report", "--list-rules", "-l", "--help", "-h", "--version", "-v",
}  # fmt: skip


@dataclass(frozen=True)
class Study:
    """A folder with a config.yaml (else OrlaError), overlays of it, options of Snakemake."""

    folder: Path
    overlays: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.folder / CONFIG).is_file():
            raise OrlaError(
                f"{self.folder} is no study: it has no {CONFIG}; go into a study's folder, name it "
                "with --directory, or make one: orla new NAME --from nwb A.nwb B.nwb"
            )
        for path in self.overlays:
            if not path.is_file():
                raise OrlaError(
                    f"{path}: there is no such file; mend its path, or name what is to be made "
                    "before --configfile"
                )

    def enter_and_plan(self) -> Plan:
        """Make the study's folder the working directory; answer the plan of its config."""
        os.chdir(self.folder)
        return read_plan(self.overlays, self._config_overrides())

    def _config_overrides(self) -> dict[str, Any]:
        """The settings that Snakemake's options give by ``--config KEY=VALUE ...``."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--config", "-C", nargs="*")
        words = parser.parse_known_args(self.options)[0].config
        if not words:
            return {}
        from snakemake.cli import parse_config

        try:
            return parse_config(words)
        except ValueError as error:
            raise OrlaError(f"--config {' '.join(words)}: {error}") from None

    def read_answer_file(self, since: float = 0.0) -> str:
        """The answer of the last run that wrote a page since that Unix time; "" where none did."""
        path = self._answer_file(self.enter_and_plan().config)
        is_new = path.is_file() and path.stat().st_mtime >= since
        return path.read_text(encoding="utf-8") if is_new else ""

    def files_newer_than_answer(self) -> list[str]:
        """Paths of the configs and registrations that are newer than the last answer."""
        config, paths = self.enter_and_plan().config, [Path(CONFIG), *self.overlays]
        for folder in config["registrations"]["folders"]:
            paths += sorted(Path(folder).glob("*.yaml"))
        answer_time = self._answer_file(config).stat().st_mtime
        return [os.path.relpath(path) for path in paths if path.stat().st_mtime > answer_time]

    def _answer_file(self, config: Mapping[str, Any]) -> Path:
        return self.folder / config["pathvars"]["reports"] / "answer.txt"

    def snakemake_command(self, *arguments: str, logger: str = "orla") -> list[str]:
        """Snakemake's command line; its working directory is to be `folder`."""
        if find_spec("snakemake") is None:
            raise OrlaError("Snakemake is not installed; run: pip install 'orla[workflow]'")
        # The workflow stands beside the package, unless the package alone was installed.
        snakefile = Path(orla.__file__).parents[2] / "Snakefile"
        if not snakefile.is_file():
            raise OrlaError(
                f"the workflow is not beside the package ({snakefile} is missing); install orla "
                "from its checkout: pip install --editable '.[workflow]'"
            )
        overlays = ["--configfile", *map(str, self.overlays)] if self.overlays else []
        return [
            *(sys.executable, "-m", "snakemake", *(["--logger", logger] if logger else [])),
            *("--snakefile", str(snakefile), *arguments, *self.options, *overlays),
        ]

    @property
    def only_shows(self) -> bool:
        """Whether Snakemake's options ask it for something to read, and for no run."""
        return not _SHOWS.isdisjoint(self.options)

    def show_snakemake_output(self, targets: Sequence[str]) -> int:
        """Let Snakemake show what it is asked for, in its own words; its exit status."""
        command, where = self.snakemake_command(*targets, logger=""), self.folder
        return subprocess.run(command, cwd=where, env=self.snakemake_environment()).returncode

    def start_snakemake(self, *arguments: str) -> subprocess.Popen[str]:
        """Start Snakemake in the folder, in its own process group, with all that it says piped."""
        return subprocess.Popen(
            self.snakemake_command(*arguments),
            cwd=self.folder,
            env=self.snakemake_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_sigint_on_parent_death,
        )

    def run(self, targets: Sequence[str], watch: Watch) -> int:
        """Run targets to the end or Ctrl-C (`INTERRUPTED`); OrlaError with why a run failed."""
        processes.treat_as_interrupt(signal.SIGTERM, signal.SIGHUP)
        log = self.folder / _LOG
        log.parent.mkdir(parents=True, exist_ok=True)
        process = self.start_snakemake(*targets)
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
        with log.open("w", encoding="utf-8") as whole:
            try:
                while (line := _next_line_or_blank(lines)) is not None:
                    whole.write(line + "\n" if line else "")
                    for text in [*watch.messages(line), *watch.new_results()]:
                        print(text, file=sys.stderr, flush=True)
            except KeyboardInterrupt:
                _stop_process(process)
                print(
                    f"\nStopped: {watch.n_done} of {watch.total} jobs and {watch.conditions} "
                    "conditions are done and kept.\n"
                    "Go on with the same command: what is done is not done again.",
                    file=sys.stderr,
                )
                return INTERRUPTED
        if status := process.wait():
            raise OrlaError(failure_reason(watch, status, log))
        return 0

    @staticmethod
    def snakemake_environment() -> dict[str, str]:
        """This process's environment, with this package for jobs, and its logger for Snakemake."""
        paths = [str(Path(orla.__file__).parents[1]), *logger.__path__]
        if path := os.environ.get("PYTHONPATH"):
            paths.append(path)
        return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def _sigint_on_parent_death() -> None:
    """End this new process, as by Ctrl-C, when the process that started it ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    processes.end_with_parent(signal.SIGINT)


def failure_reason(watch: Watch, status: int, log: Path) -> str:
    """Why a run failed, in one line without ``error:``."""
    if watch.errors:
        return watch.errors[0]
    if watch.failed_job:
        why = watch.exception or "killed, perhaps for memory"
        return f"{watch.failed_job}: {why}; all that was said stands in {log}"
    return f"Snakemake ended with status {status}; all that it said stands in {log}"


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Put the lines of a process into a queue, and None after the last."""
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _next_line_or_blank(lines: queue.Queue[str | None]) -> str | None:
    """The next line; "" after a second without any; None after the last."""
    try:
        return lines.get(timeout=1.0)
    except queue.Empty:
        return ""


def _stop_process(process: subprocess.Popen[str]) -> None:
    """End Snakemake and its jobs, as Ctrl-C would; by force when they do not end."""
    for how in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_PATIENCE_S)
            return
