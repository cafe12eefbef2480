"""The memory that one model of every architecture and learner takes, for `memory_request`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product

import torch

from orla import catalogue
from orla.catalogue.options import options_of
from orla.engine.loop import Loop
from orla.engine.memory import one_model
from orla.engine.memory_request import COPIES, SIZES, WIDTH, WINDOW
from orla.errors import OrlaError
from orla.losses.squared_error import SquaredError
from orla.optimizers.adam import Adam


def memory_of_parts() -> dict[str, dict[str, list[float]]]:
    """MB of one model in float64 with Adam, {architecture: {learner: [at each of SIZES]}}.

    Options are at their defaults, windows of WINDOW steps, WIDTH inputs and outputs.
    """
    table: dict[str, dict[str, list[float]]] = {}
    for architecture, learner, loop in _loops():
        sizes = one_model(loop, torch.float64)
        copies = COPIES * sum(sizes[name] for name in ("params", "optimizer", "stepped"))
        mb = (copies + sum(sizes[name] for name in ("carry", "buffers", "tapes"))) / 1e6
        table.setdefault(architecture, {}).setdefault(learner, []).append(float(f"{mb:.3g}"))
    return table


def _loops() -> Iterator[tuple[str, str, Loop]]:
    for architecture, part in catalogue.parts("architecture").items():
        if any(f.default is dataclasses.MISSING for f in options_of(part)):
            continue
        specs = [{"kind": architecture, "hidden": size} for size in SIZES]
        networks = [catalogue.make("architecture", g, n_in=WIDTH, n_out=WIDTH) for g in specs]
        for name, learner in catalogue.parts("learner").items():
            forms = {name: {}}
            if learner.part.more["stride"]:
                forms = {
                    name: dict.fromkeys(learner.part.short, 1),
                    f"{name}-{WINDOW}": dict.fromkeys(learner.part.short, WINDOW),
                }
            for (form, more), network in product(forms.items(), networks):
                try:
                    instance = catalogue.make(
                        "learner", {"kind": name, **more}, architecture=network
                    )
                except OrlaError:
                    break
                yield (
                    architecture,
                    form,
                    Loop(instance, Adam(), SquaredError(), segment=instance.stride),
                )
