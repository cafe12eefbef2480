"""Trial of parts: each is made as in a job, and those of plug-ins make one update."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.architectures.rnn import RNN
from orla.catalogue.options import lists_of_parts
from orla.catalogue.plugins import is_from_outside
from orla.engine.loop import Loop
from orla.engine.network import network_of
from orla.errors import OrlaError, describe_error
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer, State
from orla.optimizers.sgd import SGD
from orla.starts.base import Start
from orla.study.batches import apply_start, initial_parameters
from orla.study.declarations import PART_LISTS
from orla.study.pretraining import check_frozen

# Numbers of a network's sensitivities above which it is not tried, which would take seconds.
_MOST = 2**24

# For optimizers and starts, which take every network.
_SMALL = RNN(hidden=4, n_in=3, n_out=2)


def find_refusal(combination: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first refusal of a combination (`compatibility.collect_combinations`) or None."""
    instances: dict[str, dict[str, Any]] = {key: {} for key in PART_LISTS}
    outside: list[type] = []
    for key, kind in PART_LISTS.items():
        for name, spec in combination.get(key, {}).items():
            try:
                instances[key][name] = _make_part(kind, spec, instances["networks"])
                if "frozen" in combination:
                    check_frozen(instances[key][name], combination["frozen"])
            except OrlaError as error:
                return "frozen" if "frozen" in combination else key, name, str(error)
            outside += _plugin_classes(kind, spec)
    try:
        loops = [
            Loop(
                learner,
                SGD(),
                SquaredError(),
                observers=instances["observers"],
                interventions=[*instances["interventions"].values()],
                probes=[*instances["probes"].values()],
                segment=learner.stride,
            )
            for learner in instances["learners"].values()
        ]
        tries = {try_loop: loops, try_optimizer: instances["optimizers"].values()}
        tries[try_start] = instances["starts"].values()
        with _one_line_errors(outside):
            for attempt, part in ((a, p) for a in tries for p in tries[a] if outside):
                attempt(part)
    except OrlaError as error:
        return "", "", str(error)
    return None


def _make_part(kind: str, spec: Mapping[str, Any], networks: Mapping[str, Architecture]) -> Any:
    """The part of a specification; a learner is made for the first of `networks`."""
    if kind == "architecture":
        # The data tell how many inputs and outputs there are; an axis of one would broadcast.
        return network_of(spec, 3, 2)
    context = {"architecture": next(iter(networks.values()))} if kind == "learner" else {}
    return catalogue.make(kind, spec, **context)


def _plugin_classes(kind: str, spec: str | Mapping[str, Any]) -> Iterator[type]:
    """The class of a specification, and of those in its lists of parts, where orla has it not."""
    part, options = catalogue.specification(kind, spec)
    if is_from_outside(part):
        yield part
    for option, inner_kind in lists_of_parts(part).items():
        for entry in options.get(option, ()):
            yield from _plugin_classes(inner_kind, entry)


@contextmanager
def _one_line_errors(parts: Iterable[type]) -> Iterator[None]:
    """Turn any error of these parts into one line that names a file and a line of one of them."""
    try:
        yield
    except OrlaError:
        raise
    except Exception as error:
        files = sorted({sys.modules[part.__module__].__file__ for part in parts})
        lines = [(describe_error(error, file), file) for file in files]
        reason, file = next((line for line in lines if ", in line " in line[0]), lines[0])
        raise OrlaError(f"{file}: one update fails ({reason}); mend the part") from error


def try_loop(loop: Loop) -> None:
    """Make one update of two networks on made-up data."""
    network = loop.learner.architecture
    if network.state_size * network.parameter_count() > _MOST:
        return
    generator = torch.Generator().manual_seed(0)
    stream = {
        name: torch.randn(loop.segment, n, generator=generator, dtype=torch.float64)
        for name, n in (("x", network.n_in), ("y", network.n_out))
    }
    loop.run(loop.start(_two_networks(network)), _two_rates(), stream)


def try_optimizer(optimizer: Optimizer) -> None:
    """Make an update of all parameters of two networks, and one of the readout alone."""
    place = f"optimizer {optimizer.part.name if optimizer.part else type(optimizer).__name__}"

    def init(params: Parameters) -> State:
        state = optimizer.init(params)
        _check_answer(f"{place}: init answers", "state", state, state)
        return state

    def update(
        gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        updates, after = optimizer.update(gradients, state, params, lr)
        answers = f"{place}: update answers"
        _check_answer(answers, "update of", updates, gradients, "answer one for each of gradients")
        _check_answer(answers, "state", after, state, "give init and update the same keys")
        return updates, after

    params = _two_networks(_SMALL)
    readout = {name: params[name] for name in ("W_out", "b_out")}
    state = vmap(init)(params)
    for gradients in (params, readout):
        _check_pure(f"{place}: update", vmap(update), gradients, state, params, _two_rates())


def _check_pure(place: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Refuse a function that changes its arguments, draws random numbers, or is not finite."""
    before = pytree.tree_map_only(Tensor, Tensor.clone, arguments)
    answers = [pytree.tree_leaves(function(*arguments)) for _ in range(2)]
    if not _are_equal(pytree.tree_leaves(arguments), pytree.tree_leaves(before)):
        raise OrlaError(f"{place} changes in place what it is given; answer new tensors")
    if not _are_equal(*answers):
        raise OrlaError(f"{place} answers otherwise when it is asked again; draw no random numbers")
    for values in answers[0]:
        if not values.isfinite().all():
            raise OrlaError(f"{place} answers numbers that are not finite; mend it")
        if values.is_floating_point() and values.dtype != torch.float64:
            raise OrlaError(f"{place} answers {values.dtype} of float64; keep the precision")


def _are_equal(first: list[Any], second: list[Any]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(
        not isinstance(a, Tensor) or torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs
    )


def _check_answer(
    place: str, what: str, values: Mapping[str, Any], like: Mapping[str, Tensor], mend: str = ""
) -> None:
    """Refuse values whose names or shapes differ from those of `like`, or that are no tensors."""
    for name in sorted(values.keys() ^ like.keys()):
        word = "an extra" if name in values else "no"
        raise OrlaError(f'{place} {word} {what} "{name}"; {mend}')
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise OrlaError(
                f'{place} {type(value).__name__} as the {what} "{name}"; make it a tensor,'
                " a counter torch.zeros((), dtype=p.dtype, device=p.device)"
            )
        if value.shape != like[name].shape:
            raise OrlaError(
                f'{place} the {what} "{name}" of shape {tuple(value.shape)}; make it'
                f" {tuple(like[name].shape)}, as it is given"
            )


def try_start(start: Start) -> None:
    """Change the parameters of two networks, whose names and shapes have to stay."""
    name = start.part.name if start.part else type(start).__name__
    params = apply_start(start, _SMALL, _two_networks(_SMALL), range(2))
    shapes = {n: tuple(p.shape[1:]) for n, p in params.items()}
    if shapes != _SMALL.shapes():
        raise OrlaError(
            f"start {name} answers parameters of the shapes {shapes} for a network of"
            f" {_SMALL.shapes()}; keep them"
        )
    _check_pure(f"start {name}", apply_start, start, _SMALL, _two_networks(_SMALL), range(2))


def _two_networks(network: Architecture) -> Parameters:
    """Initial parameters of two networks, stacked."""
    return initial_parameters(network, range(2), torch.float64)


def _two_rates() -> Tensor:
    return torch.full((2,), 1e-3, dtype=torch.float64)
