"""Held-out scores of models after a shorter adaptation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orla.engine.loop import Adaptation
from orla.study import scores
from orla.study.batches import in_batches
from orla.study.study import Study

# Prefix of measures that hold the models' parameters and states at a horizon: "at/HORIZON/...".
# They are dropped as soon as a rate is known not to be selected.
_AT = "at/"


def stood(result: Adaptation, horizons: Sequence[int]) -> dict[str, np.ndarray]:
    """Parameters and states of the models after each horizon, and which had diverged by then."""
    found = {}
    for horizon in horizons:
        params, state = result.snapshots[horizon]
        for name, value in {**params, "state": state}.items():
            found[f"{_AT}{horizon}/{name}"] = value.cpu().numpy()
        fine = (result.errors[:, :horizon] <= scores.DIVERGED_ABOVE).all(1)
        found[f"{_AT}{horizon}/diverged"] = ~fine
    return found


def forget(measured: dict[str, np.ndarray]) -> None:
    """Drop what `stood` added."""
    for name in [name for name in measured if name.startswith(_AT)]:
        del measured[name]


def rows(
    study: Study, learning_rate: float, horizons: Sequence[int], measured: dict[str, np.ndarray]
) -> pd.DataFrame:
    """One row a seed and horizon at the selected rate; see `sweep.Sweep.horizons`."""
    frozen, reference = (study.baseline[f"{of}_error"] for of in ("frozen_heldout", "reference"))
    recovered = [
        scores.recovery_percent(frozen, _error_after(study, measured, horizon), reference)
        for horizon in horizons
    ]
    return pd.DataFrame(
        {
            **study.keys,
            "seed": np.repeat(np.arange(study.seeds), len(horizons)),
            "horizon_steps": np.tile(np.asarray(horizons, dtype=int), study.seeds),
            "recovery_heldout_percent": np.array(recovered, dtype=float).T.ravel(),
            "learning_rate": learning_rate,
        }
    )


def _error_after(study: Study, measured: dict[str, np.ndarray], horizon: int) -> np.ndarray:
    """Held-out errors (seeds,) of the models at the horizon; NaN for one that had diverged."""
    at = f"{_AT}{horizon}/"
    held = {k.removeprefix(at): v for k, v in measured.items() if k.startswith(at)}
    diverged, state = held.pop("diverged"), held.pop("state")

    def score(index: np.ndarray) -> dict[str, np.ndarray]:
        params = {name: study.tensor(value[index]) for name, value in held.items()}
        at_state = study.tensor(state[index])
        error, _ = study.frozen_scores(params, at_state, index, study.heldout, since=horizon)
        return {"error": error}

    error = in_batches(study.seeds, study.batch_models, score)["error"]
    return np.where(diverged | ~(error <= scores.DIVERGED_ABOVE), np.nan, error)
