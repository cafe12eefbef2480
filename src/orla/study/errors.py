"""Errors of models and of the frozen networks that they start from, and recovery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orla.study import scores
from orla.study.measurement import Batch, Choice, Measurement, Measures
from orla.study.study import Study


@dataclass(frozen=True)
class Errors(Measurement):
    """Errors on the selection part, while adapting, and held out, with their recovery.

    A model that diverged has none but the selection part's, and that one only where it diverged
    after the part and not on it.
    """

    choices = (
        Choice("validation_error", mark="selected", edge="edge"),
        Choice("heldout_error", mark="selected_on_test"),
    )

    def points(self, run: Study) -> list[int]:
        return [run.episode.selection_cut]

    def of_batch(self, batch: Batch) -> Measures:
        run, errors = batch.run, batch.result.errors
        cut, scored = run.episode.selection_cut, scores.by_models(batch.adapt, "scored")
        validation, _ = batch.frozen_scores(cut, slice(cut, run.steps))
        heldout, further = batch.frozen_scores(run.steps, run.heldout)
        step = scores.diverged_steps(errors, heldout)
        diverged = step >= 0
        lost = diverged & (step < cut) | ~(validation <= scores.DIVERGED_ABOVE)
        frozen = {name: values[batch.seed] for name, values in run.baseline.items()}
        reference, adapted = frozen["reference_error"], scores.adapted_mean(errors, scored)
        measured = {
            "validation": np.where(lost, np.nan, validation),
            "adapt": np.where(diverged, np.nan, adapted),
            "heldout": np.where(diverged, np.nan, heldout),
        }
        baseline = ("frozen_heldout", "frozen_adapt", "reference", "constant")
        return {
            "diverged": diverged,
            "diverged_step": step,
            **{f"{part}_error": error for part, error in measured.items()},
            **{f"{name}_error": frozen[f"{name}_error"] for name in baseline},
            **{
                f"recovery_{part}_percent": scores.recovery_percent(
                    frozen[f"frozen_{part}_error"], error, reference
                )
                for part, error in measured.items()
            },
            **{name: np.where(diverged, np.nan, score) for name, score in further.items()},
            "unreliable": scores.unreliable(frozen["frozen_heldout_error"], reference),
            "updates": np.full(len(step), errors.shape[1] // run.loop.learner.stride),
        }
