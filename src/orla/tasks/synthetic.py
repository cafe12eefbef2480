"""Synthetic tasks: a sine, the Lorenz system, and a linear mapping of inputs, that change once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.tasks.shift import Shift, shift_targets
from orla.tasks.stream import Stream

SIGMA, BETA = 10.0, 8.0 / 3.0
SETTLING = 10.0  # time units before the first step, for the state to reach the attractor
FINEST = 0.01  # longest step of integration, in time units


@dataclass(frozen=True)
class Sine(Shift, name="sine", label="sine, {frequency:g} to {shifted:g} cycles a step", order=20):
    """A later value of a sine of unit variance, from its present value: 1 input, 1 output.

    sqrt(2) sin(phase + 2 pi f t), plus white noise on input and target; the phase is continuous
    where f changes. After the paper's "sine frequency-shift" and "delayed sine"; the paper gives
    neither their frequencies nor their lengths. Each seed draws its phase (uniform) and noise.
    """

    frequency: float = option(0.05, "Cycles a step in pretraining.", above=0, most=0.5)
    shifted: float = option(0.075, "Cycles a step after the shift.", above=0, most=0.5)
    ahead: int = option(1, "Steps from an input to the value to be predicted.", least=1)
    noise: float = option(0.0, "Standard deviation of the noise; the sine's is 1.", least=0)

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        variants = zip(*map(self._draw_variants, rngs), strict=True)
        return shift_targets((np.stack(curves)[..., None] for curves in variants), self.ahead)

    def _draw_variants(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The unchanged sine of a seed, and the changed one."""
        phase = rng.uniform(0, 2 * np.pi)
        cycles = self.frequency * np.arange(self.pretraining + self.after + self.ahead)
        branch = cycles[self.pretraining] + self.shifted * np.arange(self.after + self.ahead)
        noise = self.noise * rng.standard_normal(len(cycles))
        stationary, shift = (np.sqrt(2) * np.sin(phase + 2 * np.pi * c) for c in (cycles, branch))
        return stationary + noise, shift + noise[self.pretraining :]

    def describe(self) -> dict[str, Any]:
        steps = f"{self.ahead} step" + ("s" if self.ahead > 1 else "")
        return {"source": f"sqrt(2) sin(phase + 2 pi f t), noise {self.noise:g}, {steps} ahead"}


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

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        start = np.stack([rng.normal((0.0, 0.0, 25.0), 5.0) for rng in rngs], axis=1)
        start = lorenz_trajectory(start, self.rho, SETTLING, 1)[-1]
        stationary = lorenz_trajectory(start, self.rho, self.dt, self.pretraining + self.after)
        shift = lorenz_trajectory(stationary[self.pretraining], self.shifted, self.dt, self.after)
        if not (np.isfinite(stationary).all() and np.isfinite(shift).all()):
            raise OrlaError("task lorenz: the system leaves all bounds; lower rho or shifted")
        paths = [np.ascontiguousarray(path.transpose(2, 0, 1)) for path in (stationary, shift)]
        baseline = paths[0][:, : self.pretraining]
        mean, scale = baseline.mean(1, keepdims=True), baseline.std(1, keepdims=True)
        if not (scale > 1e-3).all():  # about 8 on the attractor at rho = 28
            raise OrlaError("task lorenz: the state stands still in pretraining; raise rho")
        noise = self.noise * np.stack([rng.standard_normal(paths[0].shape[1:]) for rng in rngs])
        noises = noise, noise[:, self.pretraining :]
        scaled = [(path - mean) / scale + n for path, n in zip(paths, noises, strict=True)]
        return shift_targets(scaled, 1)

    def describe(self) -> dict[str, Any]:
        every = f"a step each {self.dt:g} time units"
        return {"source": f"Lorenz (1963), {every}, noise {self.noise:g}"}


def lorenz_trajectory(start: np.ndarray, rho: float, dt: float, steps: int) -> np.ndarray:
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
                k1 = _lorenz_slope(state, rho)
                k2 = _lorenz_slope(state + h / 2 * k1, rho)
                k3 = _lorenz_slope(state + h / 2 * k2, rho)
                k4 = _lorenz_slope(state + h * k3, rho)
                state = state + h / 6 * (k1 + 2 * (k2 + k3) + k4)
            states[step] = state
    return states


def _lorenz_slope(state: np.ndarray, rho: float) -> np.ndarray:
    """Time derivative of states (3, systems)."""
    x, y, z = state
    return np.array([SIGMA * (y - x), x * (rho - z) - y, x * y - BETA * z])


@dataclass(frozen=True)
class Mapping(Shift, name="mapping", label="linear mapping of recent inputs", order=60):
    """A target that is a linear mapping of the present input and of one some steps ago.

    y_t = sqrt(1 - s) M x_t + sqrt(s) D x_{t-k} + noise, with white inputs, M and D of unit rows,
    drawn for each stream. At the shift M turns by `turn` towards an independent draw, and the share
    s may change. With s = 0 the target depends on the present input alone; with s > 0 a network
    must hold inputs in its state. It is made for truth controls: it is known whether a gradient
    through time is needed.
    """

    inputs: int = option(3, "Inputs of a network.", least=1)
    outputs: int = option(2, "Outputs of a network.", least=1)
    delay: int = option(2, "Steps k from an input to the target that it decides.", least=1)
    share: float = option(0.0, "Share s of the delayed input in pretraining.", least=0, most=1)
    shifted_share: float = option(0.0, "The same after the shift.", least=0, most=1)
    turn: float = option(0.5, "Share of M that is new after the shift.", least=0, most=1)
    noise: float = option(0.3, "Standard deviation of the target's noise.", least=0)
    networks: int = option(1, "Consecutive seeds that share a stream, as one pair's do.", least=1)

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        branches = zip(*map(self._draw_variants, rngs), strict=True)
        arrays = (zip(*branch, strict=True) for branch in branches)
        return tuple(Stream(np.stack(X), np.stack(Y)) for X, Y in arrays)

    def _random_generator(self, seed: int) -> np.random.Generator:
        return super()._random_generator(seed // self.networks)

    def _draw_variants(self, rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], ...]:
        """Inputs and targets of a seed, unchanged; then those after the change."""
        # Each has random numbers of its own, so that a longer part only adds to them.
        mappings, inputs, *noises = rng.spawn(4)
        shape = (self.outputs, self.inputs)
        first, goal, past_mapping = (_unit_rows(mappings.standard_normal(shape)) for _ in range(3))
        second = _unit_rows((1 - self.turn) * first + self.turn * goal)
        steps = self.pretraining + self.after
        x = inputs.standard_normal((self.delay + steps, self.inputs))
        now, past, targets = x[self.delay :], x[:steps] @ past_mapping.T, []
        branches = (first, self.share), (second, self.shifted_share)
        for (mapping, share), rng in zip(branches, noises, strict=True):
            noise = self.noise * rng.standard_normal((steps, self.outputs))
            targets.append(np.sqrt(1 - share) * (now @ mapping.T) + np.sqrt(share) * past + noise)
        return (now, targets[0]), (now[self.pretraining :], targets[1][self.pretraining :])

    def describe(self) -> dict[str, Any]:
        shares = f"{self.share:g} then {self.shifted_share:g}"
        return {"source": f"M x_t and D x_(t-{self.delay}), share {shares}, noise {self.noise:g}"}


def _unit_rows(mapping: np.ndarray) -> np.ndarray:
    """The mapping with each row divided by its norm."""
    return mapping / np.linalg.norm(mapping, axis=1, keepdims=True)
