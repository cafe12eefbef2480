"""``orla run``: the workflow, told in a line a condition; an error last and alone."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from orla.command.studies import Study
from orla.command.watching import Watch
from orla.errors import OrlaError

_LOG = Path(".snakemake/log/orla.log")
# Seconds that a stopped run has to end its jobs.
_PATIENCE_S = 20.0
INTERRUPTED = 130


def run(study: Study, targets: Sequence[str], watch: Watch) -> int:
    """Run targets to the end or Ctrl-C (then `INTERRUPTED`); OrlaError with why a run failed."""
    log = study.folder / _LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    process = start(study, *targets)
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
    with log.open("w", encoding="utf-8") as whole:
        try:
            while (line := _next(lines)) is not None:
                whole.write(line + "\n" if line else "")
                for text in [*watch.lines(line), *watch.new_results()]:
                    print(text, file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            _stop(process)
            counts = [f"{watch.done} of {watch.total} jobs", f"{watch.conditions} conditions"]
            print(
                f"\nStopped: {' and '.join(counts)} are done and kept.\n"
                "Go on with the same command: what is done is not done again.",
                file=sys.stderr,
            )
            return INTERRUPTED
    if status := process.wait():
        raise OrlaError(reason(watch, status, log))
    return 0


def start(study: Study, *arguments: str) -> subprocess.Popen[str]:
    """Snakemake in a study's folder, in a process group of its own, with all that it says piped."""
    return subprocess.Popen(
        study.command(*arguments),
        cwd=study.folder,
        env=study.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def reason(watch: Watch, status: int, log: Path) -> str:
    """Why a run failed, in one line without ``error:``."""
    if watch.errors:
        return watch.errors[0]
    if watch.failed:
        return (
            f"{watch.failed}: {watch.raised or 'killed, perhaps for memory'}; all that was said "
            f"stands in {log}"
        )
    return f"Snakemake ended with status {status}; all that it said stands in {log}"


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _next(lines: queue.Queue[str | None]) -> str | None:
    """The next line; "" after a second without any; None after the last."""
    try:
        return lines.get(timeout=1.0)
    except queue.Empty:
        return ""


def _stop(process: subprocess.Popen[str]) -> None:
    """End Snakemake and its jobs, as Ctrl-C would; by force when they do not end."""
    for how in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_PATIENCE_S)
            return
