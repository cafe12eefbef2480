"""How far the gradients of several learners agree, on one trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.probes.base import Probe, State, Update
from orla.probes.series import medians


@dataclass(frozen=True)
class Cosine(
    Probe,
    name="cosine",
    label="cosine with {against}",
    observed={
        "cosine": "Mean over updates of the cosine of its gradient and that of `against`.",
        "positive_share": "Share of updates in which that cosine is above 0.",
        "norm_ratio": "Median over updates of its gradient's norm over that of `against`.",
    },
):
    """cos(g, g_against) and ||g|| / ||g_against||, of all observers' gradients g and the learner's.

    Over the recurrent parameters alone: the readout's gradient is the same for every learner. A
    parameter that a learner does not change counts as zeros. An update in which a gradient is 0,
    such as one of a step that is not scored, has no cosine, and one in which g_against is 0 has no
    ratio; both are left out.
    """

    against: str = option(
        "own", "The observer whose gradient the others are compared with; own for the learner's."
    )

    @property
    def reference(self) -> str:
        return self.against

    def observers(self) -> tuple[str, ...]:
        return () if self.against == "own" else (self.against,)

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        gradients = {"own": update.learner, **update.observers}
        reference = gradients[self.against]
        size, measurements = _inner(reference, reference, update).sqrt(), {}
        for name, gradient in gradients.items():
            length = _inner(gradient, gradient, update).sqrt()
            measurements[self._cosine + name] = _inner(gradient, reference, update) / (
                length * size
            )
            measurements[self._ratio + name] = length / size
        return state, measurements

    def by_observer(self, series: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
        names = [n.removeprefix(self._cosine) for n in series if n.startswith(self._cosine)]
        return {
            name: _summary(series[self._cosine + name], series[self._ratio + name])
            for name in names
        }

    @property
    def _cosine(self) -> str:
        """Begins the name of a series, which the observer's ends."""
        return f"cosine with {self.against} of "

    @property
    def _ratio(self) -> str:
        return f"norm against {self.against} of "


def _inner(a: Parameters, b: Parameters, update: Update) -> Tensor:
    """Inner product () over the recurrent parameters that both have."""
    names = [name for name in update.recurrent if name in a and name in b]
    products = (a[name] * b[name] for name in names)
    # Not flattened, because the compiler would copy the tensors into another layout.
    return sum((p.sum(tuple(range(p.dim()))) for p in products), update.state.new_zeros(()))


def _summary(cosine: np.ndarray, ratio: np.ndarray) -> dict[str, np.ndarray]:
    cosine, ratio = (np.where(np.isfinite(v), v, np.nan) for v in (cosine, ratio))
    positive = np.where(np.isnan(cosine), np.nan, cosine > 0)
    with warnings.catch_warnings(action="ignore"):  # of a mean of nothing, which is NaN
        return {
            "cosine": np.nanmean(cosine, 1),
            "positive_share": np.nanmean(positive, 1),
            "norm_ratio": medians(ratio),
        }
