"""All magnitudes of the simulation, with the values that each may have."""

from dataclasses import dataclass, field

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError


@dataclass(frozen=True)
class TaskSettings:
    """The reaches. Lengths in mm, times in seconds."""

    duration_a_s: float = option(1335.0, "Length of session A in seconds.", above=0)
    duration_b_s: float = option(825.0, "Length of session B in seconds.", above=0)
    start_s: float = option(20.0, "Time of the first sample.")
    sample_hz: float = option(250.0, "Samples of the behavior a second.", above=0)
    grid_side: int = option(8, "Targets on a side of their square grid.", least=2)
    grid_spacing_mm: float = option(15.0, "Distance between neighbouring targets.", above=0)
    reaction_s: float = option(0.22, "Median reaction time.", least=0)
    reaction_spread: float = option(0.2, "Sd of the logarithm of the reaction time.", least=0)
    movement_s: float = option(0.32, "Duration of a reach of no length.", least=0)
    movement_s_per_mm: float = option(0.004, "Duration that each mm of a reach adds.", least=0)
    movement_spread: float = option(0.15, "Sd of the logarithm of a reach's duration.", least=0)
    curvature: float = option(
        0.08, "Sd of a reach's largest sideways excursion over its length.", least=0
    )
    scatter_mm: float = option(
        4.0, "Sd of a reach's end point about the target, on each axis.", least=0
    )
    acceptance_mm: float = option(
        7.5, "A reach that ends further off than this is corrected by a second one.", above=0
    )
    hold_s: float = option(0.45, "Time on the target before the next one appears.", least=0)
    tremor_mm: float = option(0.5, "Sd of the hand's postural wander.", least=0)
    tremor_s: float = option(0.1, "Time constant of the hand's postural wander.", above=0)


@dataclass(frozen=True)
class ArraySettings:
    """The electrodes and their units. Depths are changes of the log rate."""

    n_channels: int = option(96, "Electrodes.", least=1)
    silent: float = option(
        0.4,
        "Share of channels that record no neuron on a day: no sorted units, crossings are noise.",
        least=0,
        most=1,
    )
    noise_rate: float = option(
        1.0,
        "Rate of a silent channel's crossings, relative to all units of the channel were it not "
        "silent (a threshold is set anew each day, and noise crosses it too).",
        above=0,
    )
    sorted_shares: tuple[float, ...] = option(
        (0.35, 0.35, 0.2, 0.1), "Share of channels with 0, 1, 2, ... sorted units."
    )
    crossings_hz: float = option(20.0, "Median baseline rate of unsorted crossings.", above=0)
    unit_hz: float = option(6.0, "Median baseline rate of sorted units.", above=0)
    channel_spread: float = option(
        0.45,
        "Sd of the log baseline rate across channels (impedance and threshold, the same on both "
        "days).",
        least=0,
    )
    rate_spread: float = option(0.25, "Sd of the log baseline rate across units.", least=0)
    reference_speed_mm_s: float = option(150.0, "Scale of velocity in the tuning.", above=0)
    reference_position_mm: float = option(50.0, "Scale of position in the tuning.", above=0)
    velocity_depth: float = option(
        0.375, "Median depth of velocity tuning, at the reference speed.", least=0
    )
    speed_depth: float = option(0.2, "Sd across units of the depth of speed tuning.", least=0)
    position_depth: float = option(
        0.15, "Sd across units of the depth of position tuning.", least=0
    )
    crossings_share: float = option(
        0.6,
        "Depth of the crossings' tuning over that of sorted units (crossings mix many neurons, so "
        "they are tuned less).",
        least=0,
    )
    depth_spread: float = option(
        0.4, "Sd of the logarithm of the depth of velocity tuning across units.", least=0
    )
    lag_s: float = option(0.1, "Mean across units of the time by which spikes lead movement.")
    lag_spread_s: float = option(0.04, "Sd across units of that lead.", least=0)
    n_fast: int = option(6, "Fast shared latents, of no use to the task.", least=0)
    fast_s: float = option(0.3, "Time constant of the fast latents in seconds.", above=0)
    fast_depth: float = option(0.2, "Sd across units of the fast latents' weight.", least=0)
    n_slow: int = option(3, "Slow shared latents, of no use to the task.", least=0)
    slow_s: float = option(60.0, "Time constant of the slow latents in seconds.", above=0)
    slow_depth: float = option(0.08, "Sd across units of the slow latents' weight.", least=0)


@dataclass(frozen=True)
class DriftSettings:
    """What changes between the two days, and within each."""

    scale: float = option(
        1.0, "Multiplies all between-day changes below (shares are capped at 1).", least=0
    )
    turnover: float = option(0.05, "Share of units that are other units on B.", least=0, most=1)
    rotation_rad: float = option(
        0.7, "Sd of the change of a kept unit's preferred direction.", least=0
    )
    gain_spread: float = option(
        0.3, "Sd of the change of the logarithm of a kept unit's depth of tuning.", least=0
    )
    gain: float = option(
        0.0,
        "Mean change of the logarithm of a kept unit's depth of tuning: above 0, session B tells "
        "more of velocity than session A.",
    )
    baseline_spread: float = option(
        0.06, "Sd of the change of a kept unit's log baseline rate.", least=0
    )
    lost: float = option(
        0.59,
        "Share of the channels with neurons on day A that are silent on day B. As many of the "
        "channels that are silent on day A, or all of them, have neurons on day B.",
        least=0,
        most=1,
    )
    within_s: float = option(400.0, "Time constant of the drift within a day.", above=0)
    within_rotation_rad: float = option(
        0.1, "Sd of a unit's preferred direction about its mean within a day.", least=0
    )
    within_baseline: float = option(
        0.05, "Sd of a unit's log baseline rate about its mean within a day.", least=0
    )


@dataclass(frozen=True)
class Settings:
    """All magnitudes of the simulation (docs/calibration.md), and the seed of its draws.

    Raises:
        OrlaError: a magnitude is not finite, or shares are negative or all 0.
    """

    task: TaskSettings = field(default_factory=TaskSettings)
    array: ArraySettings = field(default_factory=ArraySettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    seed: int = option(1, "Seed of every random draw.", least=0)

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
