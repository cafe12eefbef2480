"""Held-out scores of models after a shorter adaptation, at a rate chosen within it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orla.errors import OrlaError
from orla.study import rates, rolling, scores
from orla.study.horizon_limits import require_horizons
from orla.study.measurement import Batch, Measurement, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows


@dataclass(frozen=True)
class Horizons(Measurement):
    """Recovery on the held-out part, had the models stopped adapting earlier.

    The state runs on through the rest of the adapt part. The rate of each horizon is chosen within
    it, as that of the adapt part is (`orla.study.rolling`); only that rate's models are written.

    Attributes:
        horizons: steps of adaptation.
    """

    horizons: Sequence[int] = ()

    def points(self, run: ConditionRun) -> list[int]:
        check(run, self.horizons)
        origins = (part.start for h in self.horizons for part in rolling.parts(run.episode, h))
        return [*origins, *self.horizons]

    def measure(self, batch: Batch) -> Measures:
        """Errors (models, 2): of validation within the horizon, and on the held-out part.

        NaN where a model had diverged by then, or diverges on what is scored.
        """
        errors: Measures = {}
        for horizon in self.horizons:
            error, _ = batch.frozen_scores(horizon, batch.run.heldout)
            fine = (batch.result.errors[:, :horizon] <= scores.DIVERGED_ABOVE).all(1)
            fine &= error <= scores.DIVERGED_ABOVE
            validation = rolling.errors(batch, horizon)
            errors[Horizons, horizon] = np.stack([validation, np.where(fine, error, np.nan)], 1)
        return errors

    def rows(self, run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
        if not self.horizons:
            return
        by_rate = [
            {i: measures[Horizons, h] for i, measures in results.items()} for h in self.horizons
        ]
        validation = [{i: errors[:, 0] for i, errors in by_index.items()} for by_index in by_rate]
        best = [rates.best(errors) for errors in validation]
        errors = np.stack([by_index[i] for i, by_index in zip(best, by_rate, strict=True)], 1)
        best_validation, heldout = np.moveaxis(errors, 2, 0)  # (seeds, horizons) each
        before = (
            run.baseline[f"{name}_error"][:, None] for name in ("frozen_heldout", "reference")
        )
        frozen, reference = before
        measures = {
            "recovery_heldout_percent": scores.recovery_percent(frozen, heldout, reference),
            rolling.ERROR: best_validation,
            "edge": np.broadcast_to(
                [rates.on_edge(errors) for errors in validation], best_validation.shape
            ),
        }
        at = np.arange(run.seeds)[:, None], [rates.half_decade(i) for i in best]
        for measure, values in measures.items():
            yield Rows(measure, *at, values, horizon=self.horizons)


def check(run: ConditionRun, horizons: Sequence[int]) -> None:
    """Refuse a horizon that does not fit.

    Raises:
        OrlaError: A horizon is no multiple of the window, shorter than two windows or longer than
            the adapt part, or has no scored step to choose its rate by.
    """
    require_horizons(horizons, run.episode.window, run.steps, run.keys["split"])
    for horizon in horizons:
        try:
            rolling.parts(run.episode, horizon)
        except OrlaError as error:
            raise OrlaError(
                f"horizons.steps has {horizon} ({run.keys['split']}): {error}"
            ) from None
