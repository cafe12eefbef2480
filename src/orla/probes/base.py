"""The base class of probes: measurements at each update that change nothing."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from torch import Tensor

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part

State = dict[str, Tensor]


class Update(NamedTuple):
    """One update of one model.

    params: Before the update.
    gradients: The gradient that the optimizer gets, after all interventions.
    observers: The gradients of the observers, by name.
    learner: The learner's gradient, before any intervention.
    updates: Added to the parameters.
    state: The network's state (state_size,) after the update's last step.
    stream: Inputs and targets of the update's step, or of its window of steps.
    error: Of that step (), or of each of the window's steps.
    recurrent: Those of `params` that the state depends on; the others are the readout's.
    outputs: The network's outputs (n_out,) at the update's last step, before the update; None where
        no probe `reads_outputs`.
    """

    params: Parameters
    gradients: Parameters
    observers: Mapping[str, Parameters]
    learner: Parameters
    updates: Parameters
    state: Tensor
    stream: dict[str, Tensor]
    error: Tensor
    recurrent: Parameters
    outputs: Tensor | None = None

    @property
    def by_name(self) -> dict[str, Parameters]:
        """The gradients of the observers, and the learner's as own."""
        return {**self.observers, "own": self.learner}


@dataclass(frozen=True)
class Probe(Part, ABC):
    """Pure functions `init(params)` and `measure(state, update)`, for one model.

    reads_outputs: Whether `measure` reads the network's outputs.

    Class statement:
        columns: Columns that it adds to a sweep's table of models, {name: a sentence with the
            unit}; `summary` computes them from the series.
        observed: Columns that it adds to a sweep's table with a row a model and observer, likewise;
            `by_observer` computes them.
        stride: Name of the option with the steps between two looks; "" for a probe that takes none.
        kept: Name of the option with the steps after which its state is kept as an entry of a
            series, and begun anew; "" for a probe whose state goes on.
        profiles: Arrays that it adds to a sweep's table of profiles, {name: a sentence that says
            what is numbered}; `profile` computes them.
    """

    kind: ClassVar[str] = "probe"
    reads_outputs: ClassVar[bool] = False
    # The gradient that `by_observer` compares the others with: an observer's name, or own.
    reference: ClassVar[str] = ""
    declares: ClassVar[Mapping[str, Any]] = {
        "columns": {},
        "observed": {},
        "stride": "",
        "kept": "",
        "profiles": {},
    }

    @property
    def network_stride(self) -> int:
        """Steps between two looks; 0 for a probe that takes none."""
        return self._option_steps("stride")

    @property
    def reset_stride(self) -> int:
        """Steps after which its state is kept and begun anew; 0 for a probe whose state goes on."""
        return self._option_steps("kept")

    def _option_steps(self, keyword: str) -> int:
        """The steps that the option declared under a keyword has; 0 where none is declared."""
        option = self.part.more[keyword] if self.part else ""
        return getattr(self, option) if option else 0

    def observers(self) -> tuple[str, ...]:
        """Names of the observers that it reads; a study without them is refused."""
        return ()

    def init(self, params: Parameters) -> State:
        """State before the first update."""
        return {}

    @abstractmethod
    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        """The next state, and what was measured: {name: any shape}, one series each."""

    def measure_network(
        self,
        architecture: Architecture,
        params: Parameters,
        state: Tensor,
        x: Tensor,
        sensitivity: Parameters,
    ) -> dict[str, Tensor]:
        """What is measured of the network itself, seldom: {name: any shape}, one series each.

        Called for one model before every step whose number, from 0, is a multiple of
        `network_stride`, the first step apart. It is not compiled, so it may take long. A run that
        is too short for one has an empty series of each of the probe's `columns`.

        state, x: The state (state_size,) that the step starts from, and its input (n_in,).
        sensitivity: dh/dtheta of that state's h, all steps before counted, that the learner carries
            (`Learner.sensitivity`), (hidden, *shape) each; {} where it carries none.
        """
        return {}

    def by_observer(self, series: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
        """Its `observed` columns (models,) by observer, from series (models, updates, ...)."""
        return {}

    def profile(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Its `profiles` (models, numbers), from series (models, updates, ...)."""
        return {}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Its `columns` (models,), from series (models, updates, ...): means over updates."""
        return {name: series[name].mean(1) for name in self.part.more["columns"]}


def split_recurrent(values: Parameters, recurrent: Parameters) -> tuple[Parameters, Parameters]:
    """The values of the recurrent parameters, and those of the readout's."""
    inner = {name: v for name, v in values.items() if name in recurrent}
    return inner, {name: v for name, v in values.items() if name not in recurrent}


def nan_means(values: np.ndarray) -> np.ndarray:
    """Means over the second axis of what is not NaN; NaN where nothing is."""
    with warnings.catch_warnings(action="ignore"):  # of a mean of nothing, which is NaN
        return np.nanmean(values, 1)


def medians(values: np.ndarray) -> np.ndarray:
    """Medians (models,) over the updates (models, updates) that are not NaN; NaN where none is."""
    finite = (row[~np.isnan(row)] for row in values)
    return np.array([float(np.median(row)) if row.size else np.nan for row in finite])
