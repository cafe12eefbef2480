"""Copies of earlier inputs, where the inputs' autocorrelation or their frequency changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its rooms load when they are first used

from orla.catalogue import option
from orla.tasks.shift import Shift, shift_targets
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
    sweep over rho, appendix "Input decorrelation", which has no shift: that is the split
    `stationary`. Here rho changes (docs/tasks.md). Each seed draws x_0, e and the noise.
    """

    rho: float = option(0.99, "rho in pretraining.", least=-MOST, most=MOST)
    shifted: float = option(0.9, "rho after the shift.", least=-MOST, most=MOST)
    delay: int = option(50, "Steps from an input to the step that it is the target of.", least=1)
    inputs: int = option(1, "Inputs of a network, and its outputs.", least=1)
    noise: float = option(0.0, "Standard deviation of the noise; the process's is 1.", least=0)

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        shape = (self.delay + self.pretraining + self.after, 2, self.inputs)
        normals = np.stack([rng.standard_normal(shape) for rng in rngs])
        innovations, white = normals[:, :, 0], self.noise * normals[:, :, 1]
        change = self.delay + self.pretraining  # the first step of the changed rho
        stationary = _ar1_process(innovations, self.rho)
        shift = _ar1_process(innovations[:, change:], self.shifted, stationary[:, change - 1])
        shift = np.concatenate([stationary[:, :change], shift], axis=1)
        branches = stationary + white, (shift + white)[:, self.pretraining :]
        return shift_targets(branches, -self.delay)

    def describe(self) -> dict[str, Any]:
        copied = f"copied after {self.delay} steps"
        return {"source": f"AR(1), {self.inputs} independent, noise {self.noise:g}, {copied}"}


def _ar1_process(
    innovations: np.ndarray, rho: float, previous: np.ndarray | None = None
) -> np.ndarray:
    """AR(1) processes (seeds, steps, inputs) with these innovations, of variance 1.

    previous: (seeds, inputs), the step before the first; without it that is the first innovation.
    """
    steps = np.sqrt(1 - rho**2) * innovations
    steps[:, 0] = innovations[:, 0] if previous is None else steps[:, 0] + rho * previous
    return scipy.signal.lfilter([1.0], [1.0, -rho], steps, axis=1)


@dataclass(frozen=True)
class AR2(
    Shift,
    name="ar2",
    label="AR(2), copy of {delay} steps, {frequency:g} to {shifted:g} cycles a step",
    order=36,
):
    """The input `delay` steps before, of a narrow-band AR(2) process: 1 input, 1 output.

    x_t = 2 r cos(w) x_{t-1} - r^2 x_{t-2} + s e_t, e_t ~ N(0, 1), w = 2 pi f: an oscillation whose
    amplitude and phase wander, r being the `radius` of its poles r exp(+-i w). Its variance is 1
    with s^2 = (1 - r^2) ((1 + r^2)^2 - 4 r^2 cos(w)^2) / (1 + r^2); the target is x_{t - delay}.

    A network of fixed weights that holds the inputs back to m >= 1 steps ago can have no error
    below e(delay - m), that of the best linear predictor of a value k steps before two neighbouring
    ones (docs/tasks.md says more, and how the default r follows):

        e(k) = s^2 sum_{j<k} psi_j^2,   psi_j = r^j sin((j + 1) w) / sin(w),   near 1 - r^(2 k).

    The process is Gaussian and the same in either direction of time, so that no nonlinear one is
    better, and inputs between the oldest held one and the present add nothing.

    At the shift f changes. The phase is continuous, as in `sine`: with z_t = r exp(i w) z_{t-1} +
    e_t, x_t = s Im(exp(i w) z_t) / sin(w), and z goes on. Each seed draws z_0, stationary, and e.
    """

    radius: float = option(0.99915, "Radius r of the poles.", above=0, most=0.9999)
    frequency: float = option(0.04775, "Cycles a step in pretraining.", above=0, most=0.49)
    shifted: float = option(0.071625, "Cycles a step after the shift.", above=0, most=0.49)
    delay: int = option(50, "Steps from an input to the step that it is the target of.", least=1)

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        change = self.delay + self.pretraining  # the first step of the changed frequency
        normals = np.stack([rng.standard_normal(2 + change + self.after) for rng in rngs])
        start, innovations = self._start_covariance_factor() @ normals[:, :2].T, normals[:, 2:]
        z, stationary = self._state_and_process(
            innovations, self.frequency, start[0] + 1j * start[1]
        )
        _, shift = self._state_and_process(innovations[:, change:], self.shifted, z[:, change - 1])
        shift = np.concatenate([stationary[:, :change], shift], axis=1)
        branches = stationary[..., None], shift[:, self.pretraining :, None]
        return shift_targets(branches, -self.delay)

    def _start_covariance_factor(self) -> np.ndarray:
        """Factor (2, 2) of the stationary covariance of z's real and imaginary part."""
        pole = self.radius * np.exp(2j * np.pi * self.frequency)
        power, square = 1 / (1 - self.radius**2), 1 / (1 - pole**2)
        real, imaginary, cross = power + square.real, power - square.real, square.imag
        return np.linalg.cholesky(np.array([[real, cross], [cross, imaginary]]) / 2)

    def _state_and_process(
        self, innovations: np.ndarray, frequency: float, previous_state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """z (seeds, steps) of innovations, after `previous_state` (seeds,); x of variance 1."""
        turn, square = np.exp(2j * np.pi * frequency), self.radius**2
        pole = self.radius * turn
        z, _ = scipy.signal.lfilter(
            [1.0], [1.0, -pole], innovations, zi=(pole * previous_state)[:, None]
        )
        variance = (1 - square) * ((1 + square) ** 2 - 4 * square * turn.real**2) / (1 + square)
        return z, np.sqrt(variance) * (turn * z).imag / turn.imag

    def describe(self) -> dict[str, Any]:
        return {"source": f"AR(2), pole radius {self.radius:g}, copied after {self.delay} steps"}
