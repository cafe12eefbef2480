"""What the workflow asks of the place where it runs: its folder, its Python, the times of files."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from orla.errors import OrlaError
from orla.programs.store import say

# Seconds by which a file's time may be ahead of the clock.
_SKEW_S = 60.0


def require_study_workdir(snakefile_folder: str | Path) -> None:
    """Refuse a working folder without a config, and a Python that no job could start.

    Paths of the config, registrations and results are relative to the working folder, and
    Snakemake leaves out, without a word, a config.yaml that is not there. It starts jobs by a
    command line in which a space ends the path of Python.
    """
    if not Path("config.yaml").is_file():
        raise OrlaError(
            f"the working folder is {Path.cwd()}, which has no config.yaml; go into a study's "
            f"folder, or to the default study: cd '{snakefile_folder}'"
        )
    if " " in sys.executable:
        raise OrlaError(
            f"{sys.executable}: Snakemake cannot start a Python whose path has a space; make the "
            "environment in a folder without one, such as make env VENV=~/orla-env"
        )


def reset_future_times(*folders: str | Path) -> None:
    """Give files of the future the present time, and say so.

    A clock that is set back leaves such results; Snakemake makes nothing from them until the clock
    has caught up. A minute ahead is let pass: clocks of a network differ.
    """
    now, n_ahead = time.time(), 0
    for path in (path for folder in folders for path in Path(folder).rglob("*")):
        with suppress(OSError):  # of a file that another run removes, or one that is read-only
            if path.stat().st_mtime > now + _SKEW_S and path.is_file():
                os.utime(path, (now, now))
                n_ahead += 1
    if n_ahead:
        say(f"{n_ahead} files are from a clock that was ahead; they are given the present time")
