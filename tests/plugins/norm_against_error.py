"""Gradient norm against held-out error."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.study import StudyFacts


class NormAgainstError(
    Figure,
    name="norm_against_error",
    label="Gradient norm against error",
    chapter="gradients",
    order=20,
):
    """A point a condition, by learner."""

    caption = (
        "Mean norm of the gradient that the optimizer was given, and absolute error on the "
        "held-out part; a point a condition, mean over seeds (n = {n})."
    )
    by = ("learner",)
    shows: ClassVar = {"gradient_norm": "norms {}", "absolute_error": "errors {}"}

    def select(self, gradient_norms: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(gradient_norms)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        labels = {"xlabel": "Norm of the gradient", "ylabel": "Absolute error (SD)"}
        figure, axes = plots.single(row_height_in=1.8, margin_in=1.0, **labels)
        marks = plots.marks(selection.rows, "learner", study)
        for learner, mark in marks.items():
            rows = plots.where(selection.rows, learner=learner)
            options = {"color": mark.color, "marker": mark.marker, "linestyle": "none"}
            axes.plot(rows["gradient_norm"], rows["absolute_error"], **options)
        plots.legend(figure, plots.legend_handles("learner", marks, study), ncols=1)
        return figure
