"""Where the workflow is run."""

from __future__ import annotations

import sys
from pathlib import Path

from orla.errors import OrlaError


def require_place(folder: str | Path) -> None:
    """Refuse another working folder than the Snakefile's, and a Python that no job could start.

    Paths of the config, registrations and results are relative to the Snakefile's folder, and
    Snakemake leaves out, without a word, a config.yaml that is not there. It starts jobs by a
    command line in which a space ends the path of Python.

    Raises:
        OrlaError: It is run elsewhere, or there is a space in the path of Python.
    """
    if not Path(folder).samefile(Path.cwd()):
        raise OrlaError(
            f"the working folder is {Path.cwd()}; run snakemake in the folder of the Snakefile, "
            f"without -s and --directory: cd '{folder}'"
        )
    if " " in sys.executable:
        raise OrlaError(
            f"{sys.executable}: Snakemake cannot start a Python whose path has a space; make the "
            "environment in a folder without one, such as make env VENV=~/orla-env"
        )
