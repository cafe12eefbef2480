"""What rules of the workflow ask beside the plan: their place, and jobs of further chapters.

The packages of those chapters are extras, and none of them is imported here.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
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
    """Path of each result, without its ending -> language model, and what it is adapted by.

    OrlaError: streams that cannot be read as they are described, an entry of ``adapters`` without a
    model, and two of one model and rank.
    """
    language, jobs = config.get("language", {}), {}
    if language:
        _check_streams(language)
    settings = {k: v for k, v in language.items() if k not in ("models", "adapters")}
    for i, block in enumerate(language.get("adapters", ())):
        place, models = f'config: "language.adapters[{i}]', language["models"]
        names = block.get("models", [*models])
        if not models.keys() & names:  # others may be models that the config leaves out
            raise OrlaError(f'{place}.models" has no model; {nearest(names[0], models)}')
        for name in (name for name in names if name in models):
            path = f"language/{name}/rank-{block['rank']}"
            if path in jobs:
                raise OrlaError(
                    f'{place}" has {name} at rank {block["rank"]}, as an entry before; put its '
                    "learners and optimizers into one entry"
                )
            jobs[path] = name, {"model": models[name], "adapters": block, "settings": settings}
    return jobs


def _check_streams(language: Mapping[str, Any]) -> None:
    """Refuse streams of unknown texts, without a shift, or of segments that are no whole bins."""
    streams, texts = language["streams"], language["texts"]
    for i, domains in enumerate(streams):
        place = f'config: "language.streams[{i}]"'
        for name in domains:
            if name not in texts:
                raise OrlaError(
                    f'{place} has "{name}", which is no text of "language.texts"; '
                    f"{nearest(name, texts)}"
                )
        if not all(a != b for a, b in pairwise(domains)):
            raise OrlaError(f"{place} has one domain twice in a row, no shift; leave one out")
    if len(streams[0]) != 2:
        raise OrlaError(
            f'config: "language.streams[0]" has {len(streams[0])} domains, and recovery is told of '
            "its one shift; give two, and longer streams after it"
        )
    multiple = math.lcm(*(len(domains) * language["bin"] for domains in streams))
    for key, step in (("tokens", multiple), ("choosing", 2)):
        if language[key] % step:
            raise OrlaError(
                f'config: "language.{key}" is {language[key]}; segments of whole bins need a '
                f"multiple of {step}"
            )


def language_files(model: Mapping[str, Any]) -> list[str]:
    """The files of a language model that the user has; none of one from the hub."""
    folder = Path(model.get("load", ""))
    files = sorted(map(str, folder.glob("[!.]*"))) if "load" in model and folder.is_dir() else []
    return [*files, *(model[key] for key in ("weights", "vocabulary") if key in model)]


def vision_jobs(config: Mapping[str, Any]) -> dict[str, tuple[tuple[str, str], dict[str, Any]]]:
    """Path of each result, without its ending -> what adapts, and its optimizer or "-"; settings.

    The settings are ``vision`` of the config with the one grid that is tried.
    """
    if "vision" not in config:
        return {}
    vision = config["vision"]
    grids = {"none": {"-": None}, "statistics": {"-": None}} | vision["rates"]
    return {
        f"vision/{adapts}/{name}": (
            (adapts, name),
            vision | {"rates": {adapts: {name: grid}} if grid else {}},
        )
        for adapts, by_name in grids.items()
        for name, grid in by_name.items()
    }
