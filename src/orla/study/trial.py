"""Parts from outside of the package, tried for one update before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
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

# Numbers of a network's sensitivities above which it is not tried, which would take seconds.
_MOST = 2**24


def from_outside(kind: str, given: str | Mapping[str, Any]) -> Iterator[type]:
    """The class of a specification, and of those in its lists of parts, where orla has it not."""
    found, options = catalogue.specification(kind, given)
    if found.__module__.partition(".")[0] != "orla":
        yield found
    for option, of in lists_of_parts(found).items():
        for one in options.get(option, ()):
            yield from from_outside(of, one)


def try_loop(loop: Loop) -> None:
    """Make one update of two networks on made-up data.

    Raises:
        OrlaError: It fails: the file and the line of a part from outside, or the error alone.
    """
    network = loop.learner.architecture
    if network.state_size * network.parameter_count() > _MOST:
        return
    params = _two(network)
    drawn = torch.Generator().manual_seed(0)
    shapes = {"x": network.n_in, "y": network.n_out}
    moments = {
        name: torch.randn(loop.segment, n, generator=drawn, dtype=torch.float64)
        for name, n in shapes.items()
    }
    with _named():
        loop.run(loop.start(params), _rates(), moments)


def try_optimizer(optimizer: Optimizer) -> None:
    """Make an update of all parameters of two networks, and one of the readout alone.

    Raises:
        OrlaError: As `try_loop` does.
    """
    params = _two(RNN(hidden=4, n_in=3, n_out=2))
    readout = {name: params[name] for name in ("W_out", "b_out")}
    with _named():
        state = optimizing.started(optimizer, params)
        for gradients in (params, readout):
            optimizing.updated(optimizer, gradients, state, params, _rates())


def try_start(start: Start) -> None:
    """Change the parameters of a network.

    Raises:
        OrlaError: As `try_loop` does; or the answer has other parameters, or other shapes.
    """
    network = RNN(hidden=4, n_in=3, n_out=2)
    drawn = torch.Generator().manual_seed(0)
    with _named():
        params = network.init(drawn)
        changed = start.apply(network, dict(params), drawn)
        shapes = {name: tuple(p.shape) for name, p in changed.items()}
    if shapes != network.shapes():
        raise OrlaError(
            f"start {start.part.name} answers parameters of the shapes {shapes} for a network of"
            f" {network.shapes()}; keep them"
        )


def _two(network: Architecture) -> Parameters:
    """Parameters of two networks."""
    both = [network.init(torch.Generator().manual_seed(seed)) for seed in range(2)]
    return {name: torch.stack([one[name] for one in both]) for name in both[0]}


def _rates() -> Tensor:
    return torch.full((2,), 1e-3, dtype=torch.float64)


@contextmanager
def _named() -> Iterator[None]:
    """Turn any error of a part into one line that names its file."""
    try:
        yield
    except OrlaError:
        raise
    except Exception as error:
        files = {
            file
            for name, module in list(sys.modules.items())
            if name.startswith(catalogue.plugins.PREFIX) and (file := module.__file__)
        }
        lines = [(told(error, file), file) for file in sorted(files)]
        said, file = next(
            (line for line in lines if ", in line " in line[0]), (told(error, ""), "")
        )
        raise OrlaError(
            (f"{file}: " if file else "") + f"one update fails ({said}); mend the part"
        ) from error
