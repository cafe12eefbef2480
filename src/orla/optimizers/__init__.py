"""Optimizers: pure pairs init(params) -> state, update(gradients, state, params, lr)."""

from orla.errors import OrlaError
from orla.optimizers.adafactor import Adafactor
from orla.optimizers.adam import Adam
from orla.optimizers.base import Optimizer
from orla.optimizers.lars import LARS
from orla.optimizers.sgd import SGD

OPTIMIZERS: dict[str, type[Optimizer]] = {
    "sgd": SGD,
    "adam": Adam,
    "lars": LARS,
    "adafactor": Adafactor,
}


def optimizer(name: str) -> Optimizer:
    """The optimizer called `name`, with the settings of docs/protocol.md.

    Raises OrlaError when no optimizer has that name.
    """
    if name not in OPTIMIZERS:
        raise OrlaError(f"optimizer {name!r} is unknown; choose one of {sorted(OPTIMIZERS)}")
    return OPTIMIZERS[name]()


__all__ = ["LARS", "OPTIMIZERS", "SGD", "Adafactor", "Adam", "Optimizer", "optimizer"]
