"""Parts from outside of the package, tried for one update before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.architectures.rnn import RNN
from orla.catalogue.options import lists_of_parts
from orla.engine import optimizing
from orla.engine.loop import Loop
from orla.errors import OrlaError, told
from orla.optimizers.base import Optimizer
from orla.starts.base import Start
from orla.study.batches import initial_parameters, started

# Numbers of a network's sensitivities above which it is not tried, which would take seconds.
_MOST = 2**24

# For optimizers and starts, which take every network.
_SMALL = RNN(hidden=4, n_in=3, n_out=2)


def from_outside(kind: str, given: str | Mapping[str, Any]) -> Iterator[type]:
    """The class of a specification, and of those in its lists of parts, where orla has it not."""
    found, options = catalogue.specification(kind, given)
    if found.__module__.partition(".")[0] != "orla":
        yield found
    for option, of in lists_of_parts(found).items():
        for one in options.get(option, ()):
            yield from from_outside(of, one)


@contextmanager
def in_one_line(parts: Iterable[type]) -> Iterator[None]:
    """Turn any error of these parts into one line that names the file and the line of one of them.

    Raises:
        OrlaError: In place of another exception.
    """
    try:
        yield
    except OrlaError:
        raise
    except Exception as error:
        files = sorted({sys.modules[part.__module__].__file__ for part in parts})
        lines = [(told(error, file), file) for file in files]
        said, file = next((line for line in lines if ", in line " in line[0]), lines[0])
        raise OrlaError(f"{file}: one update fails ({said}); mend the part") from error


def try_loop(loop: Loop) -> None:
    """Make one update of two networks on made-up data."""
    network = loop.learner.architecture
    if network.state_size * network.parameter_count() > _MOST:
        return
    drawn = torch.Generator().manual_seed(0)
    shapes = {"x": network.n_in, "y": network.n_out}
    moments = {
        name: torch.randn(loop.segment, n, generator=drawn, dtype=torch.float64)
        for name, n in shapes.items()
    }
    loop.run(loop.start(_two(network)), _rates(), moments)


def try_optimizer(optimizer: Optimizer) -> None:
    """Make an update of all parameters of two networks, and one of the readout alone."""
    params = _two(_SMALL)
    readout = {name: params[name] for name in ("W_out", "b_out")}
    state = optimizing.started(optimizer, params)
    for gradients in (params, readout):
        optimizing.updated(optimizer, gradients, state, params, _rates())


def try_start(start: Start) -> None:
    """Change the parameters of two networks.

    Raises:
        OrlaError: The answer has other parameters, or other shapes.
    """
    changed = started(start, _SMALL, _two(_SMALL), range(2))
    shapes = {name: tuple(p.shape[1:]) for name, p in changed.items()}
    if shapes != _SMALL.shapes():
        raise OrlaError(
            f"start {start.part.name} answers parameters of the shapes {shapes} for a network of"
            f" {_SMALL.shapes()}; keep them"
        )


def _two(network: Architecture) -> Parameters:
    return initial_parameters(network, range(2), torch.float64)


def _rates() -> Tensor:
    return torch.full((2,), 1e-3, dtype=torch.float64)
