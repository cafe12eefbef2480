"""Gradient norm against held-out error."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import count_range, facets, keys_of, legend, span, where
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

    def select(self, norms: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(norms)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        labels = {"xlabel": "Norm of the gradient", "ylabel": "Absolute error (SD)"}
        figure, plots = facets({"all": ""}, row_in=1.8, around_in=1.0, **labels)
        looks = study.marks("learner", study.present(selection.rows, "learner"))
        for learner, look in looks.items():
            rows = where(selection.rows, {"learner": learner})
            mark = {"color": look.color, "marker": look.marker, "linestyle": "none"}
            plots["all"].plot(rows["gradient_norm"], rows["absolute_error"], **mark)
        legend(figure, keys_of("learner", looks, study), ncols=1)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        norms = selection.rows
        return (
            "Mean norm of the gradient that the optimizer was given, and absolute error on the "
            "held-out part; a point a condition, mean over seeds (n = "
            f"{count_range(norms['n_seeds'])}).",
            f"Points of norm against error; norms {span(norms['gradient_norm'], 2)}, errors "
            f"{span(norms['absolute_error'], 2)}.",
        )
