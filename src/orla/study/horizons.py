"""Held-out scores of models after a shorter adaptation, at a rate chosen within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from orla.engine.loop import Adaptation, Moments
from orla.errors import OrlaError
from orla.study import rates, scores
from orla.study.study import Study
from orla.tasks.episode import Episode

# Measures (models, horizons) that a sweep keeps of each rate.
_VALIDATION, _HELDOUT = "horizon_validation_error", "horizon_heldout_error"


def cut(episode: Episode, horizon: int) -> int:
    """Step at which weights are frozen to choose the rate of a horizon.

    It is `selection_fraction` of the horizon in whole windows, one at least; where the horizon is
    the whole adapt part, the episode's own cut.
    """
    if horizon == len(episode.adapt):
        return episode.selection_cut
    windows = int(episode.selection_fraction * horizon / episode.window + 1e-9)
    return max(windows, 1) * episode.window


def points(episode: Episode, horizons: Sequence[int]) -> list[int]:
    """Steps after which models are kept: each horizon and its cut."""
    return [step for horizon in horizons for step in (cut(episode, horizon), horizon)]


def check(study: Study, horizons: Sequence[int]) -> None:
    """Refuse a horizon that does not fit.

    Raises:
        OrlaError: A horizon is no multiple of the window, shorter than two windows or longer than
            the adapt part, or has no scored step to choose its rate by.
    """
    episode, window = study.episode, study.episode.window
    for horizon in horizons:
        if horizon % window or not 2 * window <= horizon <= study.steps:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of the window ({window}) from two"
                f" windows, one to learn on and one to choose the rate by, up to the {study.steps}"
                f" steps that are adapted to ({study.keys['split']})"
            )
        start, scored = cut(episode, horizon), episode.adapt.scored
        if scored is not None and not scored[..., start:horizon].any(-1).all():
            raise OrlaError(
                f"horizons.steps has {horizon}, whose rate is chosen on the steps from {start} on,"
                f" and none of them is scored ({study.keys['split']}); choose another horizon"
            )


def measures(
    study: Study, result: Adaptation, whole: Moments, horizons: Sequence[int]
) -> dict[str, np.ndarray]:
    """Validation and held-out errors (models, horizons) of a batch of models.

    Args:
        study: The condition.
        result: Of the batch, with snapshots at `points`.
        whole: The stream of the batch, from `Study.whole`.
        horizons: Steps of adaptation.

    Returns:
        NaN where a model had diverged by then, or diverges on what is scored.
    """
    found: dict[str, list[np.ndarray]] = {_VALIDATION: [], _HELDOUT: []}
    for horizon in horizons:
        start = cut(study.episode, horizon)
        for name, at, part in (
            (_VALIDATION, start, slice(start, horizon)),
            (_HELDOUT, horizon, study.heldout),
        ):
            error, _ = study.frozen_scores(*result.snapshots[at], whole, part, since=at)
            fine = (result.errors[:, :at] <= scores.DIVERGED_ABOVE).all(1)
            fine &= error <= scores.DIVERGED_ABOVE
            found[name].append(np.where(fine, error, np.nan))
    shape = (len(horizons), len(result.errors))
    return {name: np.reshape(errors, shape).T for name, errors in found.items()}


def rows(
    study: Study, done: Mapping[int, Mapping[str, np.ndarray]], horizons: Sequence[int]
) -> pd.DataFrame:
    """One row a seed and horizon, at the horizon's own rate; see `sweep.Sweep.horizons`."""
    validation = [
        {i: measured[_VALIDATION][:, place] for i, measured in done.items()}
        for place in range(len(horizons))
    ]
    chosen = [rates.best(errors) for errors in validation]

    def at_chosen(measure: str) -> np.ndarray:
        values = [done[i][measure][:, place] for place, i in enumerate(chosen)]
        return np.array(values, dtype=float).T.ravel()

    frozen, reference = (
        np.repeat(study.baseline[f"{of}_error"], len(horizons))
        for of in ("frozen_heldout", "reference")
    )
    chosen_rates = np.array([rates.half_decade(i) for i in chosen], dtype=float)
    edges = np.array([rates.on_edge(errors) for errors in validation], dtype=bool)
    return pd.DataFrame(
        {
            **study.keys,
            "seed": np.repeat(np.arange(study.seeds), len(horizons)),
            "horizon_steps": np.tile(np.asarray(horizons, dtype=int), study.seeds),
            "recovery_heldout_percent": scores.recovery_percent(
                frozen, at_chosen(_HELDOUT), reference
            ),
            "learning_rate": np.tile(chosen_rates, study.seeds),
            "validation_error": at_chosen(_VALIDATION),
            "edge": np.tile(edges, study.seeds),
        }
    )
