"""The task that every variant is timed on, and the check that it computes the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from orla import catalogue
from orla.architectures.base import Architecture
from orla.study.batches import initial_parameters

Weights = dict[str, np.ndarray]

# Largest difference of final weights that is rounding, relative to the parameter's largest weight.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Problem:
    """A stream and seeded networks, float64.

    steps: Steps of the stream that are gone through, from fresh networks and zero state.
    rate: Learning rate of every model.
    """

    name: str = "rnn"
    hidden: int = 64
    steps: int = 2000
    rate: float = 1e-3
    n_in: int = 40
    n_out: int = 2

    @property
    def architecture(self) -> Architecture:
        given = {"kind": self.name, "hidden": self.hidden}
        return catalogue.make("architecture", given, n_in=self.n_in, n_out=self.n_out)

    @cached_property
    def stream(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (steps, n_in) and targets (steps, n_out), standard normal."""
        generator = np.random.default_rng(0)
        X = generator.standard_normal((self.steps, self.n_in))
        return X, generator.standard_normal((self.steps, self.n_out))

    def weights(self, models: int) -> Weights:
        """Fresh weights of the first `models` seeds, (models, ...) each."""
        params = initial_parameters(self.architecture, range(models), torch.float64)
        return {name: p.numpy() for name, p in params.items()}

    def weights_of(self, model: int) -> Weights:
        """Fresh weights of one model."""
        return {name: w[model] for name, w in self.weights(model + 1).items()}


@dataclass(frozen=True)
class Variant:
    """One way to compute a table's numbers.

    run: Goes through the whole stream; answers with final weights, (models, ...) each.
    """

    name: str
    models: int
    run: Callable[[], Weights]


class WrongNumbers(Exception):
    """A variant that does not compute what it is compared on."""


def distance(weights: Weights, model: int, expected: Weights) -> float:
    """Of one model's weights from those expected of it, relative to each parameter's largest.

    Infinite where a weight is not finite.
    """
    each = [np.abs(weights[k][model] - w).max() / np.abs(w).max() for k, w in expected.items()]
    return float(max(each)) if np.isfinite(each).all() else np.inf


def difference(weights: Weights, oracle: Callable[[int], Weights]) -> float:
    """Largest relative difference of the first and last model's weights from the plain loop's.

    Args:
        weights: Final weights, (models, ...) each.
        oracle: Final weights of one model by the plain loop.

    Raises:
        WrongNumbers: They differ by more than TOLERANCE.
    """
    models = len(weights["W_out"])
    worst = max(distance(weights, model, oracle(model)) for model in {0, models - 1})
    if not worst <= TOLERANCE:
        raise WrongNumbers(f"final weights differ from the plain loop's by {worst:.1e} (relative)")
    return worst
