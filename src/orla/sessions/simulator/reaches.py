"""Reaching: random targets on a grid, minimum-jerk reaches, holds, and the hand's tremor.

The task follows Makin, O'Doherty, Cardoso, Sabes (2018): targets one after the other, no pause
between reaches, a hold on the target.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from orla.sessions.simulator.settings import TaskSettings

_MM_PER_CM = 10.0


@dataclass(frozen=True)
class Reaching:
    """Behavior of a session: t (k,) in s, cursor and target (k, 2), finger (k, 3): z, -x, -y."""

    t: np.ndarray
    cursor_mm: np.ndarray
    target_mm: np.ndarray
    finger_cm: np.ndarray
    reaches: int


def _reach(
    start: np.ndarray, end: np.ndarray, task: TaskSettings, rng: np.random.Generator
) -> np.ndarray:
    """Positions (samples, 2) of one curved minimum-jerk reach (Flash and Hogan 1985)."""
    way = end - start
    duration = task.movement_s + task.movement_s_per_mm * np.hypot(*way)
    duration *= np.exp(task.movement_spread * rng.standard_normal())
    samples = max(2, round(duration * task.sample_hz))
    s = np.arange(1, samples + 1) / samples
    s = s**3 * (10 - 15 * s + 6 * s**2)
    sideways = np.array([-way[1], way[0]]) * task.curvature * rng.standard_normal()
    return start + np.outer(s, way) + np.outer(4 * s * (1 - s), sideways)


def _targets(task: TaskSettings, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Random points of the grid, centred on 0, never the same twice running."""
    n = task.grid_side**2
    place = int(rng.integers(n))
    while True:
        place = (place + int(rng.integers(1, n))) % n
        cell = np.array(divmod(place, task.grid_side), dtype=float)
        yield (cell - (task.grid_side - 1) / 2) * task.grid_spacing_mm


def _wander(
    samples: int, columns: int, sd: float, smooth: float, rng: np.random.Generator
) -> np.ndarray:
    """Smooth Gaussian noise (samples, columns) of the given sd; `smooth` in samples."""
    noise = gaussian_filter1d(rng.standard_normal((samples, columns)), smooth, axis=0)
    return sd * noise * np.sqrt(2 * np.sqrt(np.pi) * smooth)


def simulate_reaching(task: TaskSettings, duration_s: float, rng: np.random.Generator) -> Reaching:
    """Reaches for `duration_s` seconds."""
    samples = round(duration_s * task.sample_hz) + 1
    hand, target_mm = np.empty((samples, 2)), np.empty((samples, 2))
    at, reaches, place = 0, 0, np.zeros(2)
    hold = round(task.hold_s * task.sample_hz)
    for target in _targets(task, rng):
        reaction = task.reaction_s * np.exp(task.reaction_spread * rng.standard_normal())
        path = [np.repeat(place[None], round(reaction * task.sample_hz), axis=0)]
        while True:
            end = target + task.scatter_mm * rng.standard_normal(2)
            path.append(_reach(place, end, task, rng))
            place = end
            if np.hypot(*(end - target)) <= task.acceptance_mm:
                break
        path.append(np.repeat(place[None], hold, axis=0))
        steps = np.concatenate(path)[: samples - at]
        hand[at : at + len(steps)] = steps
        target_mm[at : at + len(steps)] = target
        at += len(steps)
        if at == samples:
            break
        reaches += 1
    smooth = task.tremor_s * task.sample_hz
    cursor = hand + _wander(samples, 2, task.tremor_mm, smooth, rng)
    height = _wander(samples, 1, 0.5, 5 * smooth, rng)
    finger = np.column_stack([height, -cursor / _MM_PER_CM])
    t = task.start_s + np.arange(samples) / task.sample_hz
    return Reaching(t, cursor, target_mm, finger, reaches)
