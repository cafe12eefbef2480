"""What a probe is: something measured at each update that changes nothing."""

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
    """One update of one model, as a probe sees it.

    params: Before the update.
    gradients: What the optimizer was given; `observers`: the gradients of the observers, by name.
    learned: What the learner answered, before any intervention.
    updates: What is added to the parameters.
    state: The network's state (state_size,) after the update's last step.
    moment: Inputs and targets of the update's step, or of its window of steps.
    error: Of that step (), or of the window's steps.
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
    """A pure pair: `init(params)` gives a state, `measure(state, update)` the next; for one model.

    columns (in the class statement): columns that a sweep's table gets: {name: a sentence with the
    unit}; `summary` makes them of the series.
    """

    kind: ClassVar[str] = "probe"
    declares: ClassVar[Mapping[str, Any]] = {"columns": {}}

    def observers(self) -> tuple[str, ...]:
        """Names of the observers that it reads: a study without them is refused."""
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
