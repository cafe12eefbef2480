"""Prediction of the Lorenz system whose rho changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.tasks.shift import Shift, moved
from orla.tasks.stream import Stream

SIGMA, BETA = 10.0, 8.0 / 3.0
SETTLING = 10.0  # time units before the first step, for the state to reach the attractor
FINEST = 0.01  # longest step of integration, in time units


@dataclass(frozen=True)
class Lorenz(Shift, name="lorenz", label="Lorenz, rho {rho:g} to {shifted:g}", order=30):
    """The next state of the Lorenz system from the present one: 3 inputs, 3 outputs.

    x' = 10 (y - x), y' = x (rho - z) - y, z' = x y - 8/3 z, observed each `dt` time units, z-scored
    by each seed's mean and standard deviation on its pretraining part, plus white noise. After the
    paper's Lorenz rho-shift; the paper gives neither dt nor lengths. The system is that of Lorenz
    (1963), J. Atmos. Sci. 20, 130. Each seed draws its initial state and noise.
    """

    rho: float = option(28.0, "rho in pretraining.", above=0)
    shifted: float = option(35.0, "rho after the shift.", above=0)
    dt: float = option(0.05, "Time units between two steps.", above=0, most=1)
    noise: float = option(0.0, "Standard deviation of the noise, in z-scored units.", least=0)

    def streams(self, draws: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        start = np.stack([draw.normal((0.0, 0.0, 25.0), 5.0) for draw in draws], axis=1)
        start = trajectory(start, self.rho, SETTLING, 1)[-1]
        stationary = trajectory(start, self.rho, self.dt, self.pretraining + self.after)
        shift = trajectory(stationary[self.pretraining], self.shifted, self.dt, self.after)
        if not (np.isfinite(stationary).all() and np.isfinite(shift).all()):
            raise OrlaError("task lorenz: the system leaves all bounds; lower rho or shifted")
        paths = (stationary, shift)
        stationary, shift = (np.ascontiguousarray(path.transpose(2, 0, 1)) for path in paths)
        baseline = stationary[:, : self.pretraining]
        mean, scale = baseline.mean(1, keepdims=True), baseline.std(1, keepdims=True)
        if not (scale > 1e-3).all():  # about 8 on the attractor at rho = 28
            raise OrlaError("task lorenz: the state stands still in pretraining; raise rho")
        white = np.stack([draw.standard_normal(stationary.shape[1:]) for draw in draws])
        noise = self.noise * white
        stationary = (stationary - mean) / scale + noise
        shift = (shift - mean) / scale + noise[:, self.pretraining :]
        return moved(stationary, 1), moved(shift, 1)

    def describe(self) -> dict[str, Any]:
        return {
            "n_out": 3,
            "source": f"Lorenz (1963), a step each {self.dt:g} time units, noise {self.noise:g}",
        }


def trajectory(start: np.ndarray, rho: float, dt: float, steps: int) -> np.ndarray:
    """States (steps + 1, 3, systems) of Lorenz systems, `dt` time units apart, the first `start`.

    start: (3, systems). Fourth-order Runge-Kutta in equal steps of `FINEST` at most.
    """
    finer = max(round(np.ceil(dt / FINEST - 1e-9)), 1)
    h = dt / finer
    states = np.empty((steps + 1, *start.shape))
    states[0] = state = start
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(1, steps + 1):
            for _ in range(finer):
                k1 = _slope(state, rho)
                k2 = _slope(state + h / 2 * k1, rho)
                k3 = _slope(state + h / 2 * k2, rho)
                k4 = _slope(state + h * k3, rho)
                state = state + h / 6 * (k1 + 2 * (k2 + k3) + k4)
            states[step] = state
    return states


def _slope(state: np.ndarray, rho: float) -> np.ndarray:
    """Time derivative of states (3, systems)."""
    x, y, z = state
    slope = np.empty_like(state)
    slope[0] = SIGMA * (y - x)
    slope[1] = x * (rho - z) - y
    slope[2] = x * y - BETA * z
    return slope
