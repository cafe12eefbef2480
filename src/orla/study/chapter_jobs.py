"""Jobs of chapters on language models and images: what each is given, and its CPU seconds.

The packages of those chapters are extras, and none of them is imported here.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.schema import nearest_hint, require_one_of

SHIPPED_TEXTS = ("code", "prose")
"""Texts of language models that come with Python; others are files of the user."""
LEARNERS = {"immediate": 1, "tbptt-64": 64}
"""Learner of language models -> tokens that its gradient goes through, and between two updates."""
Rates = Mapping[str, Sequence[float]]
"""Optimizer -> the rate of each of its models, which follow each other in a batch."""

# Microseconds, measured: of an image through a WideResNet-10-1 with its gradient, and without; of a
# token that an adapter of a small model reads and learns, and that pretraining reads.
_IMAGE_US, _FROZEN_IMAGE_US, _TOKEN_US, _PRETRAINING_TOKEN_US = 1000.0, 350.0, 450.0, 65.0
_START_S = 8.0  # that such a job takes to begin, with its libraries
_TRAINING_IMAGES, _SCORED, _TUNING = 60_000, 15, 4
_FLOPS_PER_US = 5e3  # floating-point operations that a large model gets of one core


def language_jobs(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Path of each result, without its ending -> the model of its job, and what it is adapted by.

    OrlaError: streams that cannot be read as they are described, an entry of ``adapters`` without a
    model, and two of one model and rank.
    """
    if not (language := config.get("language")):
        return {}
    _check_streams(language)
    settings = {k: v for k, v in language.items() if k not in ("models", "adapters")}
    jobs, models = {}, language["models"]
    for i, block in enumerate(language["adapters"]):
        place, names = f'config: "language.adapters[{i}]', block.get("models", [*models])
        if not models.keys() & names:  # others may be models that the config leaves out
            raise OrlaError(f'{place}.models" has no model; {nearest_hint(names[0], models)}')
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
    """The files of a language model on this machine; none of one from the hub."""
    files = sorted(Path(model["load"]).glob("[!.]*")) if "load" in model else []
    weights = (model[key] for key in ("weights", "vocabulary") if key in model)
    return [*(str(file) for file in files if file.is_file()), *weights]


def rates_to_try(adapters: Mapping[str, Any], grids: Mapping[str, Any]) -> dict[str, Rates]:
    """By learner of ``adapters`` what ``grids`` has for its cadence; OrlaError if it has none."""
    by_learner = {learner: {} for learner in adapters["learners"]}
    for learner, name in product(by_learner, adapters["optimizers"]):
        cadence = "step" if LEARNERS[learner] == 1 else "window"
        if cadence not in grids.get(name, {}):
            raise OrlaError(f'config: "grids.{name}" has no rates for an update each {cadence}')
        by_learner[learner][name] = grids[name][cadence]
    return by_learner


def language_job_size(
    settings: Mapping[str, Any], rates_by_learner: Mapping[str, Rates]
) -> dict[str, float]:
    """What a job of ``language`` needs, for `language.models.require_room`.

    "models" of the largest batch (all streams and seeds, or all rates that are tried), "tokens"
    that all read together, and "most_hours".
    """
    grids = rates_by_learner.values()
    adapted = max(map(len, grids)) * len(settings["streams"]) * settings["seeds"]
    most = max(adapted, *(sum(map(len, rates.values())) for rates in grids))
    tokens = len(grids) * (adapted * settings["tokens"] + most * settings["choosing"])
    return {"models": most, "tokens": tokens, "most_hours": settings["most_hours"]}


def token_us(weights: float) -> float:
    """CPU microseconds of a token that an adapter of a model of so many weights learns."""
    return max(_TOKEN_US, 6 * weights / _FLOPS_PER_US)


def vision_jobs(config: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """(what adapts, optimizer or "-") -> its job: ``vision`` of the config with that grid alone."""
    if not (vision := config.get("vision")):
        return {}
    jobs = {(adapts, "-"): vision | {"rates": {}} for adapts in ("none", "statistics")}
    for adapts, grids in vision["rates"].items():
        for name, grid in grids.items():
            jobs[adapts, name] = vision | {"rates": {adapts: {name: grid}}}
    return jobs


def chapter_cpu_s(config: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]) -> float:
    """CPU seconds of a job of these rules; 0 for other rules."""
    match rule:
        case "vision_network" | "vision_adapt":
            us = _vision_job_us(config["vision"], **wildcards)
        case "language_pretraining":
            settings = config["language"]["pretraining"]
            tokens = settings["steps"] * settings["batch"] * settings["window"]
            us = tokens * _PRETRAINING_TOKEN_US
        case "language_adaptation":
            job = language_jobs(config)["language/{model}/rank-{rank}".format(**wildcards)]
            rates = rates_to_try(job["adapters"], config["grids"])
            size = sum(Path(file).stat().st_size for file in language_files(job["model"])) / 4
            us = language_job_size(job["settings"], rates)["tokens"] * token_us(size)
        case _:
            return 0.0
    return _START_S + 1e-6 * us


def _vision_job_us(vision: Mapping[str, Any], adapts: str = "", optimizer: str = "") -> float:
    """CPU microseconds of the training of the network, or of one way to adapt it."""
    network, us = vision["network"], _IMAGE_US
    if not adapts:
        images = 0 if "checkpoint" in network else network["epochs"] * _TRAINING_IMAGES
    else:
        grid = vision["rates"].get(adapts, {}).get(optimizer, [])
        us = _IMAGE_US if grid else _FROZEN_IMAGE_US
        images = vision["scored"] * (_TUNING * len(grid) + _SCORED * vision["seeds"])
    return us * images * (network["depth"] - 4) / 6 * network["widen"] ** 2
