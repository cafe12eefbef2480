"""What rules of the workflow ask beside the plan: their place, and jobs of further chapters.

The packages of those chapters are extras, and none of them is imported here.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.programs.store import say
from orla.schema import nearest

SHIPPED_TEXTS = ("code", "prose")
"""Texts of language models that come with Python; others are files of the user."""

# Seconds by which a file's time may be ahead of the clock.
_SKEW_S = 60.0


def require_study_folder(folder: str | Path) -> None:
    """Refuse a working folder without a config, and a Python that no job could start.

    Paths of the config, registrations and results are relative to the working folder, and
    Snakemake leaves out, without a word, a config.yaml that is not there. It starts jobs by a
    command line in which a space ends the path of Python. `folder` is the Snakefile's.
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


def language_jobs(config: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path of each result, without its ending -> language model, and what it is adapted by."""
    language = config.get("language", {})
    for domains in language.get("streams", ()):
        _check_stream(language, domains)
    settings = {k: v for k, v in language.items() if k not in ("models", "adapters")}
    return {
        f"language/{name}/rank-{block['rank']}": (
            name,
            {"model": language["models"][name], "adapters": block, "settings": settings},
        )
        for block in language.get("adapters", ())
        for name in block.get("models", language["models"])
        if name in language["models"]
    }


def _check_stream(language: Mapping[str, Any], domains: Sequence[str]) -> None:
    """Refuse a stream of unknown texts, or of segments that are no whole bins."""
    for name in domains:
        if name not in language["texts"]:
            raise OrlaError(
                f'config: "language.streams" has "{name}", which is no text of "language.texts"; '
                f"{nearest(name, language['texts'])}"
            )
    for key, step in (("tokens", len(domains) * language["bin"]), ("choosing", len(domains))):
        if language[key] % step:
            raise OrlaError(
                f'config: "language.{key}" is {language[key]}; a stream of {len(domains)} segments '
                f"in bins of {language['bin']} tokens needs a multiple of {step}"
            )


def language_files(model: Mapping[str, Any]) -> list[str]:
    """The files of a language model that the user has; none of one from the hub."""
    folder = Path(model.get("load", ""))
    files = sorted(map(str, folder.glob("[!.]*"))) if "load" in model and folder.is_dir() else []
    return [*files, *(model[key] for key in ("weights", "vocabulary") if key in model)]


def vision_jobs(config: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Path below the results, without its ending -> what adapts, and its optimizer or "-"."""
    if "vision" not in config:
        return {}
    grids = {"none": "-", "statistics": "-"} | config["vision"]["rates"]
    ways = [(adapts, name) for adapts, names in grids.items() for name in names]
    return {f"vision/{adapts}/{name}": (adapts, name) for adapts, name in ways}
