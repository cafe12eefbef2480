"""Figures caught before they are saved, and the words in them."""

import pytest
from matplotlib.text import Text

from orla import catalogue
from orla.reports import style


def draw(name, results, study):
    """The figure itself, caught on its way to the disk, laid out as it would be saved."""
    caught = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", lambda figure, *paths: caught.append(figure))
        figure = catalogue.part("figure", name)
        needed = [results[need] for need in figure.part.more["needs"]]
        figure().draw(*needed, paths=[], study=study)
        caption = figure().describe(*needed, study=study)
    caught[0].canvas.draw()
    return caught[0], caption


def texts(figure):
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    offscreen = {t for axes in figure.axes for t in hidden_ticks(axes)}
    return [t for t in found if t not in offscreen]


def hidden_ticks(axes):
    """Tick labels that matplotlib keeps but does not draw, since they lie outside the view."""
    for axis in (axes.xaxis, axes.yaxis):
        shown = set(axis._update_ticks())  # what is drawn has no public name
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if tick not in shown:
                yield from (tick.label1, tick.label2)
