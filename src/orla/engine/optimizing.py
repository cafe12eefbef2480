"""The states and updates of an optimizer for a batch of models, held to what they have to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.errors import OrlaError
from orla.optimizers.base import Optimizer, State


def started(optimizer: Optimizer, params: Parameters) -> State:
    """The state before the first update, models on the first axis.

    Raises:
        OrlaError: A value of it is no tensor.
    """

    def init(params: Parameters) -> State:
        state = optimizer.init(params)
        _check_values(f"{_named(optimizer)}: init", "state", state)
        return state

    return vmap(init)(params)


def updated(
    optimizer: Optimizer, gradients: Parameters, state: State, params: Parameters, rates: Tensor
) -> tuple[Parameters, State]:
    """One update a gradient, and the next state, models on the first axis.

    Raises:
        OrlaError: The updates are not those of the gradients, or the next state has not the keys
            and shapes of `state`.
    """
    place = f"{_named(optimizer)}: update"

    def update(
        gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        updates, after = optimizer.update(gradients, state, params, lr)
        for name in sorted(updates.keys() ^ gradients.keys()):
            told = ("an update", "no gradient") if name in updates else ("no update", "a gradient")
            raise OrlaError(
                f'{place} answers {told[0]} of "{name}" where {told[1]} of it is given; '
                "answer one for each of gradients"
            )
        for name in sorted(after.keys() ^ state.keys()):
            told = ("the", "does not") if name in after else ("no", "does")
            raise OrlaError(
                f'{place} answers {told[0]} state "{name}" where init {told[1]}; give both the'
                " same keys"
            )
        _check_values(place, "update of", updates, gradients)
        _check_values(place, "state", after, state)
        return updates, after

    return vmap(update)(gradients, state, params, rates)


def _named(optimizer: Optimizer) -> str:
    return f"optimizer {optimizer.part.name if optimizer.part else type(optimizer).__name__}"


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
