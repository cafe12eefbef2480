"""Held-out scores of models after a shorter adaptation, at a rate chosen within it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orla.errors import OrlaError
from orla.study import rates, scores
from orla.study.measurement import Batch, Measurement, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows
from orla.tasks.episode import Episode


@dataclass(frozen=True)
class Horizons(Measurement):
    """Recovery on the held-out part, had the models stopped adapting earlier.

    The state runs on through the rest of the adapt part. The rate of each horizon is chosen on its
    own last share, as that of the adapt part is; only that rate's models are written.

    Attributes:
        horizons: steps of adaptation.
    """

    horizons: Sequence[int] = ()

    def points(self, run: ConditionRun) -> list[int]:
        check(run, self.horizons)
        return [step for h in self.horizons for step in (cut(run.episode, h), h)]

    def of_batch(self, batch: Batch) -> Measures:
        """Errors (models, 2): on the horizon's last share, and on the held-out part.

        NaN where a model had diverged by then, or diverges on what is scored.
        """
        errors: Measures = {}
        for horizon in self.horizons:
            start, each = cut(batch.run.episode, horizon), []
            for at, part in ((start, slice(start, horizon)), (horizon, batch.run.heldout)):
                error, _ = batch.frozen_scores(at, part)
                fine = (batch.result.errors[:, :at] <= scores.DIVERGED_ABOVE).all(1)
                fine &= error <= scores.DIVERGED_ABOVE
                each.append(np.where(fine, error, np.nan))
            errors[Horizons, horizon] = np.stack(each, 1)
        return errors

    def rows(self, run: ConditionRun, done: Mapping[int, Measures]) -> Iterator[Rows]:
        if not self.horizons:
            return
        by_rate = [
            {i: measures[Horizons, h] for i, measures in done.items()} for h in self.horizons
        ]
        validation = [{i: errors[:, 0] for i, errors in each.items()} for each in by_rate]
        best = [rates.best(errors) for errors in validation]
        errors = np.stack([each[i] for i, each in zip(best, by_rate, strict=True)], 1)
        chosen, heldout = np.moveaxis(errors, 2, 0)  # (seeds, horizons) each
        before = (
            run.baseline[f"{name}_error"][:, None] for name in ("frozen_heldout", "reference")
        )
        frozen, reference = before
        measures = {
            "recovery_heldout_percent": scores.recovery_percent(frozen, heldout, reference),
            "validation_error": chosen,
            "edge": np.broadcast_to([rates.on_edge(errors) for errors in validation], chosen.shape),
        }
        at = np.arange(run.seeds)[:, None], [rates.half_decade(i) for i in best]
        for measure, values in measures.items():
            yield Rows(measure, *at, values, horizon=self.horizons)


def cut(episode: Episode, horizon: int) -> int:
    """Step at which weights are frozen to choose the rate of a horizon.

    It is `selection_fraction` of the horizon in whole windows, one at least; where the horizon is
    the whole adapt part, the episode's own cut.
    """
    if horizon == len(episode.adapt):
        return episode.selection_cut
    windows = int(episode.selection_fraction * horizon / episode.window + 1e-9)
    return max(windows, 1) * episode.window


def check(run: ConditionRun, horizons: Sequence[int]) -> None:
    """Refuse a horizon that does not fit.

    Raises:
        OrlaError: A horizon is no multiple of the window, shorter than two windows or longer than
            the adapt part, or has no scored step to choose its rate by.
    """
    episode, window = run.episode, run.episode.window
    for horizon in horizons:
        if horizon % window or not 2 * window <= horizon <= run.steps:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of the window ({window}) from two"
                f" windows, one to learn on and one to choose the rate by, up to the {run.steps}"
                f" steps that are adapted to ({run.keys['split']})"
            )
        start, scored = cut(episode, horizon), episode.adapt.scored
        if scored is not None and not scored[..., start:horizon].any(-1).all():
            raise OrlaError(
                f"horizons.steps has {horizon}, whose rate is chosen on the steps from {start} on,"
                f" and none of them is scored ({run.keys['split']}); choose another horizon"
            )
