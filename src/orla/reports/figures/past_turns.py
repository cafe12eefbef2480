"""How far the past gradient turns from one window to the next."""

from __future__ import annotations

import pandas as pd

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.profiles import Chosen, chosen, grid, in_one_line, panels, series
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_QUANTITY = "turn_cosine"


class PastTurns(
    Figure,
    name="past_turns",
    label="Turns of the past gradient from window to window",
    chapter="mechanism",
    order=30,
    needs=("profile",),
):
    """Cosine of the past gradients of consecutive windows, a panel an optimizer and split."""

    def draw(self, profile: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        found = _found(profile, study)
        shown = list(panels(found, study))
        looks = study.marks("optimizer", [optimizer for _, optimizer, _ in shown])
        with grid(len(shown), study.of(found.rows), found.title, paths, row_in=1.45) as (
            figure,
            axes,
        ):
            for here, (title, optimizer, rows) in zip(axes, shown, strict=True):
                here.set_title(title)
                style.zero_line(here)
                for _, one in series(rows):
                    here.plot(one["index"] + 1, one["value"], color=style.QUIET, linewidth=0.4)
                mean = rows.groupby("index")["value"].mean()
                color = looks[optimizer].color
                here.plot(mean.index + 1, mean, color=color, linewidth=1.5)
                here.set_ylim(-1.05, 1.05)
                here.set_yticks([-1, 0, 1])
            if axes:
                figure.supxlabel("Window", fontsize=style.FONT_PT)
                figure.supylabel("Cosine with the next window's", fontsize=style.FONT_PT)

    def ran(self, profile: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _found(profile, study).rows.empty

    def describe(self, profile: pd.DataFrame, *, study: StudyFacts) -> Caption:
        found = _found(profile, study)
        seen = "; ".join(
            f"{in_one_line(title)}: {number(rows['value'].mean(), 2)}"
            for title, _, rows in panels(found, study)
        )
        return self.captioned(
            study.of(found.rows),
            "Cosine of the past gradient of a window and that of the next: 1 where its direction "
            f"stays, 0 where it turns by a right angle, {found.title}. Thin grey lines: seeds "
            f"(n = {found.seeds}); thick: their mean.",
            "Lines by window, a panel an optimizer and split. Means over windows and seeds. "
            f"{seen or 'No data'}.",
        )


def _found(profile: pd.DataFrame, study: StudyFacts) -> Chosen:
    return chosen(profile, (_QUANTITY,), study)
