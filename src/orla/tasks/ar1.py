"""Copies of earlier inputs, where the inputs' autocorrelation changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.tasks.shift import Shift
from orla.tasks.stream import Stream

# Longest and lowest rho: a process that forgets itself within a thousand steps.
MOST = 0.999


@dataclass(frozen=True)
class AR1(
    Shift, name="ar1", label="AR(1), copy of {delay} steps, rho {rho:g} to {shifted:g}", order=35
):
    """The input `delay` steps before, of AR(1) noise: as many outputs as inputs.

    x_t = rho x_{t-1} + sqrt(1 - rho^2) e_t, e_t ~ N(0, 1), x_0 ~ N(0, 1), so that its variance is 1
    at every step; the target is x_{t - delay}. Inputs are independent of each other. White noise,
    where it is asked for, belongs to the input: the target is a copy of it too. After the paper's
    sweep over rho, appendix "Input decorrelation", which has delay 50, rho of 0, 0.3, 0.6, 0.9
    and 0.99, and no shift: that is the variant `stationary`. Here rho changes. What is to be copied
    stays as it is, but what the present input tells of it (rho^delay) changes, so that a
    network which does not hold its inputs has to adapt. Each seed draws x_0, e and the noise.
    """

    rho: float = option(0.99, "rho in pretraining.", least=-MOST, most=MOST)
    shifted: float = option(0.9, "rho after the shift.", least=-MOST, most=MOST)
    delay: int = option(50, "Steps from an input to the step that it is the target of.", least=1)
    inputs: int = option(1, "Inputs of a network, and its outputs.", least=1)
    noise: float = option(0.0, "Standard deviation of the noise; the process's is 1.", least=0)

    def streams(self, draws: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        shape = (self.delay + self.pretraining + self.after, 2, self.inputs)
        normals = np.stack([draw.standard_normal(shape) for draw in draws])
        e, white = normals[:, :, 0], self.noise * normals[:, :, 1]
        at = self.delay + self.pretraining  # the first step of the changed rho
        stationary = process(e, self.rho)
        shift = process(e[:, at:], self.shifted, stationary[:, at - 1])
        shift = np.concatenate([stationary[:, :at], shift], axis=1)[:, self.pretraining :]
        return self._copy_task(stationary + white), self._copy_task(
            shift + white[:, self.pretraining :]
        )

    def _copy_task(self, values: np.ndarray) -> Stream:
        return Stream(values[:, self.delay :], values[:, : -self.delay])

    def describe(self) -> dict[str, Any]:
        return {
            "n_out": self.inputs,
            "source": f"AR(1), {self.inputs} independent, noise {self.noise:g}, copied after "
            f"{self.delay} steps",
        }


def process(e: np.ndarray, rho: float, before: np.ndarray | None = None) -> np.ndarray:
    """AR(1) processes (seeds, steps, inputs) with these innovations, of variance 1.

    before: (seeds, inputs), the step before the first; without it the first step is e's own.
    """
    x = np.empty_like(e)
    share = np.sqrt(1 - rho**2)
    for t in range(e.shape[1]):
        x[:, t] = e[:, t] if before is None else rho * before + share * e[:, t]
        before = x[:, t]
    return x
