"""Parts made as a job makes them, and those from outside of the package tried for one update."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.architectures.rnn import RNN
from orla.catalogue.options import lists_of_parts
from orla.engine.loop import Loop
from orla.engine.network import network_of
from orla.errors import OrlaError, told
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer, State
from orla.optimizers.sgd import SGD
from orla.starts.base import Start
from orla.study.batches import initial_parameters, started
from orla.study.plan import NAMED
from orla.study.pretraining import check_frozen

# Numbers of a network's sensitivities above which it is not tried, which would take seconds.
_MOST = 2**24

# For optimizers and starts, which take every network.
_SMALL = RNN(hidden=4, n_in=3, n_out=2)


def refusal(asked: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first refusal of a question (`fitting.Question`); None where there is none."""
    made: dict[str, dict[str, Any]] = {key: {} for key in NAMED}
    outside: list[type] = []
    for key, kind in NAMED.items():
        for name, spec in asked.get(key, {}).items():
            try:
                made[key][name] = _made(kind, spec, made["networks"])
                if "frozen" in asked:
                    check_frozen(made[key][name], asked["frozen"])
            except OrlaError as error:
                return "frozen" if "frozen" in asked else key, name, str(error)
            outside += from_outside(kind, spec)
    try:
        loops = [
            Loop(
                learner,
                SGD(),
                SquaredError(),
                observers=made["observers"],
                interventions=[*made["interventions"].values()],
                probes=[*made["probes"].values()],
                segment=learner.stride,
            )
            for learner in made["learners"].values()
        ]
        if outside:
            tries = ((try_loop, loops), (try_optimizer, made["optimizers"].values()))
            with in_one_line(outside):
                for tried, parts in (*tries, (try_start, made["starts"].values())):
                    for part in parts:
                        tried(part)
    except OrlaError as error:
        return "", "", str(error)
    return None


def _made(kind: str, spec: Mapping[str, Any], networks: Mapping[str, Architecture]) -> Any:
    if kind == "architecture":
        # The data tell how many inputs and outputs there are; an axis of one would broadcast.
        return network_of(spec, 3, 2)
    context = {"architecture": next(iter(networks.values()))} if kind == "learner" else {}
    return catalogue.make(kind, spec, **context)


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
    moments = {
        name: torch.randn(loop.segment, n, generator=drawn, dtype=torch.float64)
        for name, n in (("x", network.n_in), ("y", network.n_out))
    }
    loop.run(loop.start(_two(network)), _rates(), moments)


def try_optimizer(optimizer: Optimizer) -> None:
    """Make an update of all parameters of two networks, and one of the readout alone.

    Raises:
        OrlaError: A value of the state is no tensor, the updates are not those of the gradients, or
            the next state has not the keys and shapes of the one before.
    """
    place = f"optimizer {optimizer.part.name if optimizer.part else type(optimizer).__name__}"

    def init(params: Parameters) -> State:
        state = optimizer.init(params)
        _check_values(f"{place}: init", "state", state)
        return state

    def update(
        gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        updates, after = optimizer.update(gradients, state, params, lr)
        for name in sorted(updates.keys() ^ gradients.keys()):
            told = ("an update", "no gradient") if name in updates else ("no update", "a gradient")
            raise OrlaError(
                f'{place}: update answers {told[0]} of "{name}" where {told[1]} of it is given; '
                "answer one for each of gradients"
            )
        for name in sorted(after.keys() ^ state.keys()):
            told = ("the", "does not") if name in after else ("no", "does")
            raise OrlaError(
                f'{place}: update answers {told[0]} state "{name}" where init {told[1]}; give both'
                " the same keys"
            )
        _check_values(f"{place}: update", "update of", updates, gradients)
        _check_values(f"{place}: update", "state", after, state)
        return updates, after

    params = _two(_SMALL)
    readout = {name: params[name] for name in ("W_out", "b_out")}
    state = vmap(init)(params)
    for gradients in (params, readout):
        vmap(update)(gradients, state, params, _rates())


def _check_values(
    place: str, what: str, values: Mapping[str, Any], like: Mapping[str, Tensor] | None = None
) -> None:
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise OrlaError(
                f'{place} answers {type(value).__name__} as the {what} "{name}"; make it a tensor,'
                " a counter torch.zeros((), dtype=p.dtype, device=p.device)"
            )
        if like is not None and value.shape != like[name].shape:
            raise OrlaError(
                f'{place} answers the {what} "{name}" of shape {tuple(value.shape)}; make it'
                f" {tuple(like[name].shape)}, as it is given"
            )


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
