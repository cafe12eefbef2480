"""A network from its specification, whose step fits its state."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from orla import catalogue
from orla.architectures.base import Architecture
from orla.errors import OrlaError


def network_of(given: str | Mapping[str, Any], n_in: int, n_out: int) -> Architecture:
    """The architecture of a specification, with these inputs and outputs.

    Raises:
        OrlaError: It is unknown, an option is out of range, or a step does not lead from a state of
            `state_size` numbers to another one.
    """
    network = catalogue.make("architecture", given, n_in=n_in, n_out=n_out)
    file = sys.modules[type(network).__module__].__file__
    place, size = f"{file}: architecture {network.part.name}", network.state_size
    try:
        before, after = _stepped(network)
    except RuntimeError as error:
        raise OrlaError(
            f"{place}: step fails on a state of {size} numbers ({error}); mend step, state_size or"
            " recurrent_shapes"
        ) from error
    for word, shape in (("initial_state", before), ("step", after)):
        if shape != (size,):
            raise OrlaError(
                f"{place}: {word} gives a state of shape {shape}, and state_size is {size}; make"
                " them agree"
            )
    return network


def _stepped(network: Architecture) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the state before a step and after it.

    With numbers, not on the meta device: there PyTorch loads its compiler, which takes longer than
    a job whose programs are kept.
    """
    params = {name: torch.zeros(shape) for name, shape in network.shapes().items()}
    with torch.no_grad():
        state = network.initial_state(params)
        after = network.step(params, state, torch.zeros(network.n_in))
    return tuple(state.shape), tuple(after.shape)
