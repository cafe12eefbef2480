"""``orla inspect``: the sessions of a study and their drift, before anything is trained."""

from __future__ import annotations

from pathlib import Path

from orla.command.run import run
from orla.command.studies import Study
from orla.command.watching import Watch

TARGET = "inspect"


def inspect(study: Study) -> int:
    """Make the drift report and print it; the exit status, as of `run.run`."""
    reports = study.folder / study.plan().config["pathvars"]["reports"] / "sessions"
    if status := run(study, [TARGET], Watch(study.folder, None)):
        return status
    print((reports / "answer.txt").read_text(encoding="utf-8"))
    print(f"page: {Path(reports, 'index.html')}")
    return 0
