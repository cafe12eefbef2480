"""Figures caught before they are saved, and the words in them."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from orla import catalogue
from orla.reports import style


def draw(name, results, study):
    """The figure itself, caught on its way to the disk, laid out as it would be saved; its caption.

    The caption is None where nothing ran.
    """
    caught = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", lambda figure, *paths: caught.append(figure))
        figure = catalogue.part("figure", name)
        needed = [results[need] for need in figure.part.more["needs"]]
        caption = figure().render(*needed, paths=[name], study=study)
    caught[0].canvas.draw()
    plt.close(caught[0])
    return caught[0], caption


def intervals(axes):
    """x, y and the ends (n, 2), lying or upright, of the dots with intervals of each series."""
    for bars in axes.containers:
        segments = [segment for segment in bars.lines[2][0].get_segments() if len(segment)]
        ends = [segment[:, int(bars.has_yerr)] for segment in segments]
        x, y = (np.asarray(values, float) for values in bars.lines[0].get_data())
        yield x, y, np.array(ends).reshape(-1, 2)


def series(figure):
    """What the legend says."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def assert_readable(figure):
    assert not overlapping(figure) and not beyond(figure)
    assert min(text.get_fontsize() for text in texts(figure)) >= 8
    assert figure.get_figwidth() in (style.ONE_COLUMN_IN, style.TWO_COLUMNS_IN)


def texts(figure):
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    offscreen = {t for axes in figure.axes for t in hidden_ticks(axes)}
    return [t for t in found if t not in offscreen]


def overlapping(figure):
    """Pairs of texts of which one lies over the other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    return [
        (a, b)
        for (a, box_a), (b, box_b) in combinations(boxes, 2)
        if box_a.padded(-1).overlaps(box_b.padded(-1))
    ]


def beyond(figure):
    """Texts that are not wholly on the page."""
    page = figure.bbox.padded(1)
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    return [
        text for text, b in boxes if not (page.contains(b.x0, b.y0) and page.contains(b.x1, b.y1))
    ]


def hidden_ticks(axes):
    """Tick labels that matplotlib keeps but does not draw, since they lie outside the view."""
    for axis in (axes.xaxis, axes.yaxis):
        shown = set(axis._update_ticks())  # what is drawn has no public name
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if tick not in shown:
                yield from (tick.label1, tick.label2)
