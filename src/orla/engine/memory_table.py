"""The memory that every part takes at usual sizes, which `asked_memory` scales."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from orla import catalogue
from orla.architectures.base import Architecture
from orla.catalogue.options import options_of
from orla.engine.asked_memory import WIDTH, WINDOW
from orla.engine.loop import Loop
from orla.engine.memory import TEMPORARIES, bytes_of, one_model
from orla.errors import OrlaError
from orla.losses.squared_error import SquaredError
from orla.optimizers.sgd import SGD


def of_parts() -> dict[str, Any]:
    """What the package's parts take, options at their defaults, as `asked_memory` reads it.

    Returns:
        "architecture": {name: its hidden units, bytes of its parameters, and for each learner that
        takes it the bytes of one model and those that a step goes through}; "optimizer",
        "intervention" and "probe": {name: what it holds, in bytes of the parameters}.
    """
    networks = {}
    for name, network in catalogue.parts("architecture").items():
        if all(f.default is not dataclasses.MISSING for f in options_of(network)):
            networks[name] = catalogue.make("architecture", name, n_in=WIDTH, n_out=WIDTH)
    usual = next(iter(networks.values()))
    held = {
        kind: {name: _held(part, usual) for name, part in catalogue.parts(kind).items()}
        for kind in ("optimizer", "intervention", "probe")
    }
    return {"architecture": {name: _row(network) for name, network in networks.items()}} | held


def _row(network: Architecture) -> dict[str, Any]:
    row: dict[str, Any] = {"hidden": network.hidden, "params": 8 * network.parameter_count()}
    row["carried"] = {}
    for name, part in catalogue.parts("learner").items():
        windowed = dict.fromkeys(part.part.short, WINDOW) if part.part.more["stride"] else {}
        try:
            learner = catalogue.make("learner", {"kind": name, **windowed}, architecture=network)
        except OrlaError:
            continue
        loop = Loop(learner, SGD(), SquaredError(), segment=learner.stride)
        one = one_model(loop, torch.float64)
        each = sum(one[key] for key in ("carry", "changed", "read", "tapes"))
        each += one["carry"] + TEMPORARIES * one["stepped"]
        if each > row["params"]:
            row["carried"][name] = [each, one["read"] + one["stepped"]]
    return row


def _held(part: type[Any], network: Architecture) -> float:
    needed = {f.name: f.name for f in options_of(part) if f.default is dataclasses.MISSING}
    params = {name: torch.zeros(shape) for name, shape in network.shapes().items()}
    state = catalogue.make(part.kind, {"kind": part.part.name, **needed}).init(params)
    return round(bytes_of(state) / bytes_of(params), 2)
