"""A network from its specification, whose step fits its state."""

import sys
from collections.abc import Mapping
from typing import Any

import torch

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.errors import OrlaError, describe_error

# Most parameters of a network whose step is tried with numbers.
_MOST_PARAMETERS = 10**6


def network_of(spec: str | Mapping[str, Any], n_in: int, n_out: int) -> Architecture:
    """The architecture of a specification; an OrlaError where its step does not fit its state."""
    network = catalogue.make("architecture", spec, n_in=n_in, n_out=n_out)
    file = sys.modules[type(network).__module__].__file__
    place, size = f"{file}: architecture {network.part.name}", network.state_size
    if not isinstance(size, int):
        raise OrlaError(f"{place}: state_size is no number; write @property above it")
    params = _trial_parameters(network)
    try:
        initial_shape, next_shape = _state_shapes(network, params, place)
    except OrlaError:
        raise
    except Exception as error:
        raise OrlaError(
            f"{place}: step fails on a state of {size} numbers ({describe_error(error, file)});"
            " mend step, state_size or recurrent_shapes"
        ) from error
    for word, shape in (("initial_state", initial_shape), ("step", next_shape)):
        if shape != (size,):
            raise OrlaError(
                f"{place}: {word} gives a state of shape {shape}, and state_size is {size}; make"
                " them agree"
            )
    return network


def _trial_parameters(network: Architecture) -> Parameters:
    """A small network's initial parameters; a large network's shapes alone, on the meta device.

    There PyTorch loads its compiler, which takes longer than a small job whose programs are kept.
    """
    if network.parameter_count() <= _MOST_PARAMETERS:
        return network.init(torch.Generator().manual_seed(0), torch.float32)
    return {name: torch.zeros(s, device="meta") for name, s in network.shapes().items()}


def _state_shapes(
    network: Architecture, params: Parameters, place: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the state before and after a trial step; OrlaError for a step of other faults."""
    x = next(iter(params.values())).new_zeros(network.n_in)
    with torch.no_grad():
        state = network.initial_state(params)
        changes = state._version
        next_state = network.step(params, state, x)
    if not isinstance(next_state, torch.Tensor):
        raise OrlaError(f"{place}: step answers {type(next_state).__name__}; answer the next state")
    if state._version != changes:
        raise OrlaError(f"{place}: step changes its state in place; make a new one")
    return tuple(state.shape), tuple(next_state.shape)
