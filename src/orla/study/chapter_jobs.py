"""Jobs of chapters on language models and images: what each is given, and its CPU seconds.

The packages of those chapters are extras, and none of them is imported here.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.schema import nearest, require_one_of

SHIPPED_TEXTS = ("code", "prose")
"""Texts of language models that come with Python; others are files of the user."""

# Microseconds, measured: of an image through a WideResNet-10-1 with its gradient, and without; of a
# token that an adapter of a small model reads and learns, and that pretraining reads.
_IMAGE_US, _FROZEN_IMAGE_US, _TOKEN_US, _PRETRAINING_TOKEN_US = 1000.0, 350.0, 450.0, 65.0
# Seconds that such a job takes to begin, with its libraries.
_START_S = 8.0
_TRAINING_IMAGES, _SCORED, _TUNING = 60_000, 15, 4
# Floating-point operations a microsecond that a large model gets of one core.
_FLOPS_PER_US = 5e3


def language_jobs(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Path of each result, without its ending -> the model of its job, and what it is adapted by.

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
            jobs[path] = {"model": models[name], "adapters": block, "settings": settings}
    return jobs


def _check_streams(language: Mapping[str, Any]) -> None:
    """Refuse streams of unknown texts, without a shift, or of segments that are no whole bins."""
    streams = language["streams"]
    for i, domains in enumerate(streams):
        place = f"language.streams[{i}]"
        for name in domains:
            require_one_of(place, name, language["texts"], ", no text of language.texts")
        if any(a == b for a, b in pairwise(domains)):
            raise OrlaError(f'config: "{place}" has one domain twice in a row; leave one out')
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


def vision_jobs(config: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What adapts, and its optimizer or "-" -> ``vision`` of the config with the one grid."""
    if "vision" not in config:
        return {}
    vision = config["vision"]
    grids = {"none": {"-": None}, "statistics": {"-": None}} | vision["rates"]
    return {
        (adapts, name): vision | {"rates": {adapts: {name: grid}} if grid else {}}
        for adapts, by_name in grids.items()
        for name, grid in by_name.items()
    }


def chapter_cpu_s(config: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]) -> float:
    """CPU seconds of a job of these rules; 0 for other rules."""
    if rule in ("vision_network", "vision_adapt"):
        return _START_S + _vision_s(config["vision"], **wildcards)
    if rule == "language_pretraining":
        settings = config["language"]["pretraining"]
        tokens = settings["steps"] * settings["batch"] * settings["window"]
        return _START_S + 1e-6 * tokens * _PRETRAINING_TOKEN_US
    if rule == "language_adaptation":
        return _START_S + _language_s(config, "language/{model}/rank-{rank}".format(**wildcards))
    return 0.0


def _vision_s(vision: Mapping[str, Any], adapts: str = "", optimizer: str = "") -> float:
    """Of the training of the network, or of one way to adapt it."""
    network, us = vision["network"], _IMAGE_US
    if not adapts:
        images = 0 if "checkpoint" in network else network["epochs"] * _TRAINING_IMAGES
    else:
        grid = vision["rates"].get(adapts, {}).get(optimizer, [])
        us = _IMAGE_US if grid else _FROZEN_IMAGE_US
        images = vision["scored"] * (_TUNING * len(grid) + _SCORED * vision["seeds"])
    blocks = (network["depth"] - 4) / 6
    return 1e-6 * us * images * blocks * network["widen"] ** 2


def _language_s(config: Mapping[str, Any], path: str) -> float:
    """Of the adaptation of one model at one rank."""
    job = language_jobs(config)[path]
    settings, adapters, grids = job["settings"], job["adapters"], config["grids"]
    adapted = len(settings["streams"]) * settings["seeds"] * settings["tokens"]
    tokens = len(adapters["learners"]) * sum(
        adapted + max(map(len, grids[name].values())) * settings["choosing"]
        for name in adapters["optimizers"]
    )
    size = sum(Path(file).stat().st_size for file in language_files(job["model"])) / 4
    return 1e-6 * tokens * max(_TOKEN_US, 6 * size / _FLOPS_PER_US)
