"""The base class of probes: measurements at each update that change nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Part

State = dict[str, Tensor]


class Update(NamedTuple):
    """One update of one model.

    params: Before the update.
    gradients: The gradient that the optimizer gets, after all interventions.
    observers: The gradients of the observers, by name.
    learned: The learner's gradient, before any intervention.
    updates: Added to the parameters.
    state: The network's state (state_size,) after the update's last step.
    moment: Inputs and targets of the update's step, or of its window of steps.
    error: Of that step (), or of each of the window's steps.
    """

    params: Parameters
    gradients: Parameters
    observers: Mapping[str, Parameters]
    learned: Parameters
    updates: Parameters
    state: Tensor
    moment: dict[str, Tensor]
    error: Tensor


@dataclass(frozen=True)
class Probe(Part, ABC):
    """Pure functions `init(params)` and `measure(state, update)`, for one model.

    columns (in the class statement): columns that it adds to a sweep's table, {name: a sentence
    with the unit}; `summary` computes them from the series.
    """

    kind: ClassVar[str] = "probe"
    declares: ClassVar[Mapping[str, Any]] = {"columns": {}}

    def observers(self) -> tuple[str, ...]:
        """Names of the observers that it reads; a study without them is refused."""
        return ()

    def init(self, params: Parameters) -> State:
        """State before the first update."""
        return {}

    @abstractmethod
    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        """The next state, and what was measured: {name: any shape}, one series each."""

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Its `columns` (models,), from series (models, updates, ...): means over updates."""
        return {name: series[name].mean(1) for name in self.part.more["columns"]}
