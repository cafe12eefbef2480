"""Simulated sessions of self-paced reaching, with spikes in the layout of O'Doherty et al.

A subject reaches for random targets on a grid while an array of 96 electrodes records threshold
crossings and sorted units, on two days between which the recording drifts. The simulation shows
that the study works; it says nothing about the brain. docs/calibration.md says which published
magnitudes the sessions are held to, how well they reach them, and how `Settings` were chosen; the
others are round numbers of the order that the literature on motor cortex reports.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError

_positive = partial(option, above=0)
_size = partial(option, least=0)
_share = partial(option, least=0, most=1)


@dataclass(frozen=True)
class TaskSettings:
    """The reaches. Lengths in mm, times in seconds."""

    duration_a_s: float = _positive(1335.0, "Length of session A in seconds.")
    duration_b_s: float = _positive(825.0, "Length of session B in seconds.")
    start_s: float = option(20.0, "Time of the first sample.")
    sample_hz: float = _positive(250.0, "Samples of the behavior a second.")
    grid_side: int = option(8, "Targets on a side of their square grid.", least=2)
    grid_spacing_mm: float = _positive(15.0, "Distance between neighbouring targets.")
    reaction_s: float = _size(0.22, "Median reaction time.")
    reaction_spread: float = _size(0.2, "Sd of the logarithm of the reaction time.")
    movement_s: float = _size(0.32, "Duration of a reach of no length.")
    movement_s_per_mm: float = _size(0.004, "Duration that each mm of a reach adds.")
    movement_spread: float = _size(0.15, "Sd of the logarithm of a reach's duration.")
    curvature: float = _size(0.08, "Sd of a reach's largest sideways excursion over its length.")
    scatter_mm: float = _size(4.0, "Sd of a reach's end point about the target, on each axis.")
    acceptance_mm: float = _positive(
        7.5, "A reach that ends further off than this is corrected by a second one."
    )
    hold_s: float = _size(0.45, "Time on the target before the next one appears.")
    tremor_mm: float = _size(0.5, "Sd of the hand's postural wander.")
    tremor_s: float = _positive(0.1, "Time constant of the hand's postural wander.")


@dataclass(frozen=True)
class ArraySettings:
    """The electrodes and their units. Depths are changes of the log rate."""

    n_channels: int = option(96, "Electrodes.", least=1)
    silent: float = _share(
        0.4,
        "Share of channels that record no neuron on a day: no sorted units, crossings are noise.",
    )
    noise_rate: float = _positive(
        1.0,
        "Rate of a silent channel's crossings, relative to all units of the channel were it not "
        "silent (a threshold is set anew each day, and noise crosses it too).",
    )
    sorted_shares: tuple[float, ...] = option(
        (0.35, 0.35, 0.2, 0.1), "Share of channels with 0, 1, 2, ... sorted units."
    )
    crossings_hz: float = _positive(20.0, "Median baseline rate of unsorted crossings.")
    unit_hz: float = _positive(6.0, "Median baseline rate of sorted units.")
    channel_spread: float = _size(
        0.45,
        "Sd of the log baseline rate across channels (impedance and threshold, the same on both "
        "days).",
    )
    rate_spread: float = _size(0.25, "Sd of the log baseline rate across units.")
    reference_speed_mm_s: float = _positive(150.0, "Scale of velocity in the tuning.")
    reference_position_mm: float = _positive(50.0, "Scale of position in the tuning.")
    velocity_depth: float = _size(0.375, "Median depth of velocity tuning, at the reference speed.")
    speed_depth: float = _size(0.2, "Sd across units of the depth of speed tuning.")
    position_depth: float = _size(0.15, "Sd across units of the depth of position tuning.")
    crossings_share: float = _size(
        0.6,
        "Depth of the crossings' tuning over that of sorted units (crossings mix many neurons, so "
        "they are tuned less).",
    )
    depth_spread: float = _size(
        0.4, "Sd of the logarithm of the depth of velocity tuning across units."
    )
    lag_s: float = option(0.1, "Mean across units of the time by which spikes lead movement.")
    lag_spread_s: float = _size(0.04, "Sd across units of that lead.")
    n_fast: int = _size(6, "Fast shared latents, of no use to the task.")
    fast_s: float = _positive(0.3, "Time constant of the fast latents in seconds.")
    fast_depth: float = _size(0.2, "Sd across units of the fast latents' weight.")
    n_slow: int = _size(3, "Slow shared latents, of no use to the task.")
    slow_s: float = _positive(60.0, "Time constant of the slow latents in seconds.")
    slow_depth: float = _size(0.08, "Sd across units of the slow latents' weight.")


@dataclass(frozen=True)
class DriftSettings:
    """What changes between the two days, and within each."""

    scale: float = _size(1.0, "Multiplies all between-day changes below (shares are capped at 1).")
    turnover: float = _share(0.05, "Share of units that are other units on B.")
    rotation_rad: float = _size(0.7, "Sd of the change of a kept unit's preferred direction.")
    gain_spread: float = _size(
        0.3, "Sd of the change of the logarithm of a kept unit's depth of tuning."
    )
    gain: float = option(
        0.0,
        "Mean change of the logarithm of a kept unit's depth of tuning: above 0, session B tells "
        "more of velocity than session A.",
    )
    baseline_spread: float = _size(0.06, "Sd of the change of a kept unit's log baseline rate.")
    lost: float = _share(
        0.59,
        "Share of the channels with neurons on day A that are silent on day B. As many of the "
        "channels that are silent on day A, or all of them, have neurons on day B.",
    )
    within_s: float = _positive(400.0, "Time constant of the drift within a day.")
    within_rotation_rad: float = _size(
        0.1, "Sd of a unit's preferred direction about its mean within a day."
    )
    within_baseline: float = _size(
        0.05, "Sd of a unit's log baseline rate about its mean within a day."
    )


@dataclass(frozen=True)
class Settings:
    """All magnitudes of the simulation (docs/calibration.md), and the seed of its draws.

    OrlaError: a magnitude is not finite, or shares are negative or all 0.
    """

    task: TaskSettings = field(default_factory=TaskSettings)
    array: ArraySettings = field(default_factory=ArraySettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    seed: int = _size(1, "Seed of every random draw.")

    def __post_init__(self) -> None:
        for part in ("task", "array", "drift"):
            for name, value in vars(getattr(self, part)).items():
                if not np.isfinite(value).all():
                    raise OrlaError(f"simulated.{part}.{name}: {value}; give a finite number")
        shares = np.asarray(self.array.sorted_shares, dtype=float)
        if (shares < 0).any() or not shares.sum() > 0:
            raise OrlaError(
                f"simulated.array.sorted_shares: {self.array.sorted_shares} are no shares; give "
                "numbers of at least 0, one of them above 0"
            )
