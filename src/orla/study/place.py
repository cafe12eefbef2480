"""Where the workflow is run."""

from __future__ import annotations

import sys
from pathlib import Path

from orla.errors import OrlaError


def require_place(folder: str | Path) -> None:
    """Refuse a working folder without a config, and a Python that no job could start.

    Paths of the config, registrations and results are relative to the working folder, and
    Snakemake leaves out, without a word, a config.yaml that is not there. It starts jobs by a
    command line in which a space ends the path of Python.

    Args:
        folder: The Snakefile's.

    Raises:
        OrlaError: There is no config.yaml, or there is a space in the path of Python.
    """
    if not Path("config.yaml").is_file():
        raise OrlaError(
            f"the working folder is {Path.cwd()}, which has no config.yaml; go into a study's "
            f"folder, or to the default study: cd '{folder}'"
        )
    if " " in sys.executable:
        raise OrlaError(
            f"{sys.executable}: Snakemake cannot start a Python whose path has a space; make the "
            "environment in a folder without one, such as make env VENV=~/orla-env"
        )
