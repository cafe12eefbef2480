"""Gradient norm against held-out error."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import say, seed_counts, span
from orla.reports.study import StudyFacts


class NormAgainstError(
    Figure,
    name="norm_against_error",
    label="Gradient norm against error",
    chapter="gradients",
    order=20,
    needs=("gradient_norms",),
):
    """A point a condition, by learner."""

    def draw(self, norms: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        looks = study.marks("learner", study.present(norms, "learner"))
        with style.house():
            figure, axes = plt.subplots(figsize=(style.ONE_COLUMN_IN, 2.4), layout="constrained")
            for learner, look in looks.items():
                rows = norms[norms["learner"] == learner]
                axes.plot(
                    rows["gradient_norm"],
                    rows["absolute_error"],
                    color=look.color,
                    marker=look.marker,
                    linestyle="none",
                    label=study.called("learner", learner),
                )
            axes.set_xlabel("Norm of the gradient")
            axes.set_ylabel("Absolute error (SD)")
            if looks:
                axes.legend()
            else:
                say(axes, "not run")
            style.heading(figure, study.simulated)
            style.save(figure, *paths)

    def describe(self, norms: pd.DataFrame, *, study: StudyFacts) -> Caption:
        return self.captioned(
            study,
            "Mean norm of the gradient that the optimizer was given, and absolute error on the "
            f"held-out part; a point a condition, mean over seeds (n = {seed_counts(norms)}).",
            f"Points of norm against error; norms {span(norms['gradient_norm'], 2)}, errors "
            f"{span(norms['absolute_error'], 2)}.",
        )
