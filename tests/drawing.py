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
    """No text lies over another or off the page; the figure is as wide as one column or two."""
    shown, page = texts(figure), figure.bbox.padded(1)
    boxes = {text: text.get_window_extent() for text in shown}
    for one, other in combinations(shown, 2):
        over = boxes[one].padded(-1).overlaps(boxes[other].padded(-1))
        assert not over, (one.get_text(), other.get_text())
    for text, box in boxes.items():
        assert page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1), text
        assert text.get_fontsize() >= 8, text
    assert figure.get_figwidth() in (style.ONE_COLUMN_IN, style.TWO_COLUMNS_IN)


def texts(figure):
    """The texts that are drawn: tick labels outside the view are kept by matplotlib, not drawn."""
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        shown = set(axis._update_ticks())  # what is drawn has no public name
        ticks = {*axis.get_major_ticks(), *axis.get_minor_ticks()} - shown
        hidden |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    every = (t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip())
    return [text for text in every if text not in hidden]
