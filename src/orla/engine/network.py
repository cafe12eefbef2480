"""A network from its specification, whose step fits its state."""

import sys
from collections.abc import Mapping
from typing import Any

import torch

from orla import catalogue
from orla.architectures.base import Architecture
from orla.errors import OrlaError, describe_error

# Most parameters of a network whose step is tried with numbers. A larger one's is tried with shapes
# alone, on the meta device, where PyTorch loads its compiler, which takes longer than a small job
# whose programs are kept.
_MOST_PARAMETERS = 10**6


def network_of(spec: str | Mapping[str, Any], n_in: int, n_out: int) -> Architecture:
    """The architecture of a specification; an OrlaError where its step does not fit its state."""
    network = catalogue.make("architecture", spec, n_in=n_in, n_out=n_out)
    file = sys.modules[type(network).__module__].__file__
    place, size = f"{file}: architecture {network.part.name}", network.state_size
    if not isinstance(size, int):
        raise OrlaError(f"{place}: state_size is no number; write @property above it")
    if network.parameter_count() <= _MOST_PARAMETERS:
        params = network.init(torch.Generator().manual_seed(0), torch.float32)
    else:
        params = {name: torch.zeros(s, device="meta") for name, s in network.shapes().items()}
    try:
        with torch.no_grad():
            state = network.initial_state(params)
            changes = state._version
            x = next(iter(params.values())).new_zeros(n_in)
            next_state = network.step(params, state, x)
    except OrlaError:
        raise
    except Exception as error:
        raise OrlaError(
            f"{place}: step fails on a state of {size} numbers ({describe_error(error, file)});"
            " mend step, state_size or recurrent_shapes"
        ) from error
    if not isinstance(next_state, torch.Tensor):
        raise OrlaError(f"{place}: step answers {type(next_state).__name__}; answer the next state")
    if state._version != changes:
        raise OrlaError(f"{place}: step changes its state in place; make a new one")
    for word, tensor in (("initial_state", state), ("step", next_state)):
        if tensor.shape != (size,):
            raise OrlaError(
                f"{place}: {word} gives a state of shape {tuple(tensor.shape)}, and state_size is"
                f" {size}; make them agree"
            )
    return network
