"""CPU seconds of jobs on images and language models, by the size of what a config asks of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orla.study.workflow import language_files, language_jobs, vision_jobs

# Microseconds, measured: of an image through a WideResNet-10-1 with its gradient, and without; of a
# token that an adapter of a small model reads and learns, and that pretraining reads.
_IMAGE_US, _FROZEN_IMAGE_US, _TOKEN_US, _PRETRAINING_TOKEN_US = 1000.0, 350.0, 450.0, 65.0
# Seconds that such a job takes to begin, with its libraries.
_START_S = 8.0
_TRAINING_IMAGES, _SCORED, _TUNING = 60_000, 15, 4
# Floating-point operations a microsecond that a large model gets of one core.
_FLOPS_PER_US = 5e3


def chapter_cpu_s(config: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]) -> float:
    """CPU seconds of a job of these rules; 0 for other rules."""
    if rule.startswith("vision"):
        path = "vision/{adapts}/{optimizer}".format(**wildcards) if rule == "vision_adapt" else ""
        return _START_S + _vision_s(config, path)
    if rule == "language_pretraining":
        settings = config["language"]["pretraining"]
        tokens = settings["steps"] * settings["batch"] * settings["window"]
        return _START_S + 1e-6 * tokens * _PRETRAINING_TOKEN_US
    if rule == "language_adaptation":
        return _START_S + _language_s(config, "language/{model}/rank-{rank}".format(**wildcards))
    return 0.0


def _vision_s(config: Mapping[str, Any], path: str) -> float:
    """Of the training of the network, without a path, or of one way to adapt it."""
    vision = config["vision"]
    network, us = vision["network"], _IMAGE_US
    if not path:
        images = 0 if "checkpoint" in network else network["epochs"] * _TRAINING_IMAGES
    else:
        (adapts, name), settings = vision_jobs(config)[path]
        grid = settings["rates"].get(adapts, {}).get(name, [])
        us = _IMAGE_US if grid else _FROZEN_IMAGE_US
        images = vision["scored"] * (_TUNING * len(grid) + _SCORED * vision["seeds"])
    blocks = (network["depth"] - 4) / 6
    return 1e-6 * us * images * blocks * network["widen"] ** 2


def _language_s(config: Mapping[str, Any], path: str) -> float:
    """Of the adaptation of one model at one rank."""
    _, job = language_jobs(config)[path]
    settings, adapters, grids = job["settings"], job["adapters"], config["grids"]
    adapted = len(settings["streams"]) * settings["seeds"] * settings["tokens"]
    tokens = len(adapters["learners"]) * sum(
        adapted + max(map(len, grids[name].values())) * settings["choosing"]
        for name in adapters["optimizers"]
    )
    size = sum(Path(file).stat().st_size for file in language_files(job["model"])) / 4
    return 1e-6 * tokens * max(_TOKEN_US, 6 * size / _FLOPS_PER_US)
