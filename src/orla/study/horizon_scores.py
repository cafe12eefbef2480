"""Recovery of models that stop adapting at a horizon, at the rate that is chosen within it.

Source: docs/protocol.md, Horizons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from orla.study import rates, rolling, stable
from orla.study.recovery import recovery_percent
from orla.study.rolling import Batch, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows

_VALIDATION = "validation at a horizon"


def validation_errors(batch: Batch, horizons: Sequence[int]) -> Measures:
    """Errors (models,) of validation within each horizon; NaN where a model diverged by then."""
    return {(_VALIDATION, h): rolling.rolling_origin_error(batch, h) for h in horizons}


def recovery_rows(
    run: ConditionRun, results: Mapping[int, Measures], horizons: Sequence[int]
) -> Iterator[Rows]:
    """Recovery at each horizon, of the models at the rate that is chosen within it.

    `results` holds `validation_errors` and `stable.network_snapshots` of each horizon. The state
    runs on through the rest of the adapt part. A model that had diverged by the horizon, or
    diverges on what is scored, has none.
    """
    start, goal = (run.baseline[f"{name}_error"] for name in ("frozen_heldout", "reference"))
    best_rates, by_horizon = [], []
    for horizon in horizons:
        validation = {i: measures[_VALIDATION, horizon] for i, measures in results.items()}
        best = rates.lowest_error_index(validation)
        best_rates.append(rates.half_decade(best))
        [heldout] = stable.mean_heldout_scores(run, results, [best], [horizon])[stable.ERROR]
        end = results[best]["diverged_step"]
        heldout = np.where((end >= 0) & (end < horizon), np.nan, heldout)
        recovery = recovery_percent(start, heldout, goal)
        edge = np.full(run.seeds, rates.best_on_edge(validation))
        by_horizon.append((recovery, validation[best], edge))
    names = ("recovery_heldout_percent", rolling.ERROR, "edge") if by_horizon else ()
    for name, values in zip(names, zip(*by_horizon, strict=True), strict=True):
        seed = np.arange(run.seeds)[:, None]
        yield Rows(name, seed, best_rates, np.stack(values, 1), horizon=horizons)
