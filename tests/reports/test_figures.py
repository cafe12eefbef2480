"""Figures: drawn from the data, readable in grey, the same bytes each time, nothing overlapping."""

import os
import subprocess
import sys
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, intervals, texts
from report_results import KEYS

from orla import catalogue
from orla.reports.figures import plots
from orla.reports.numbers import number
from orla.reports.paper import load

NAMES = list(catalogue.parts("figure"))
# The results of these tests have nothing of them; other tests of figures have.
LACKING = {"grad_ratio", "decay_sweep", "accuracy_over_time", "scaling_bci", "tta", "lora_losses"}


@pytest.fixture(scope="module")
def crowded(wide):
    """The models of Adam stand for those of the optimizer with the longest name too."""
    longest, crowd = max(catalogue.parts("optimizer"), key=len), dict(wide)
    for name, frame in wide.items():
        if "optimizer" in frame:
            adam = frame[frame["optimizer"] == "adam"]
            crowd[name] = pd.concat([frame, adam.assign(optimizer=longest)])
    return crowd


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_readable_and_says_whether_it_is_simulated(name, crowded, simulated, recorded):
    figure, caption = draw(name, crowded, simulated)
    part = catalogue.part("figure", name)
    needed = [crowded[need] for need in part.part.more["needs"]]
    assert part().render(*(frame.iloc[:0] for frame in needed), study=recorded) is None
    if name in LACKING:
        assert caption is None and "not run" in texts(figure)[0].get_text()
        return
    assert_readable(figure)
    assert "SIMULATED" in figure.get_suptitle() and caption.caption.startswith("SIMULATED")
    assert "nan" not in (caption.caption + caption.alt).lower()
    assert "SIMULATED" not in "".join(part().render(*needed, study=recorded))


SHARED = {
    "all": lambda one, other: True,
    "row": lambda one, other: one[0] == other[0] and int(one[1]) // 2 == int(other[1]) // 2,
    "column": lambda one, other: int(one[1]) % 2 == int(other[1]) % 2,
    "plot": lambda one, other: one == other,
}
ROWS, COLUMNS = {"a": "first", "b": "second"}, {str(i): f"column {i}" for i in range(3)}


@pytest.mark.parametrize("share", SHARED)
def test_columns_too_many_stand_below_and_axes_are_shared_as_asked(share):
    layout = {"row_height_in": 1, "margin_in": 0.5, "wrap": 2, "x": share, "y": share}
    figure, axes_of = plots.facets(COLUMNS, ROWS, **layout)
    plt.close(figure)
    assert list(axes_of.values()) == figure.axes and figure.get_figheight() == 4.5
    shape = {key: axes.get_subplotspec() for key, axes in axes_of.items()}
    at = {key: (spec.rowspan.start, spec.colspan.start) for key, spec in shape.items()}
    assert set(at) == {(row, column) for row in ROWS for column in COLUMNS}
    assert at["b", "1"] == (1, 1) and at["a", "2"] == (2, 0) and at["b", "2"] == (3, 0)
    assert axes_of["a", "2"].get_title() == "column 2" and axes_of["b", "2"].get_title() == ""
    assert [text.get_text() for text in texts(figure)].count("second") == 2
    for one, other in combinations(axes_of, 2):
        for of in ("get_shared_x_axes", "get_shared_y_axes"):
            joined = getattr(axes_of[one], of)().joined(axes_of[one], axes_of[other])
            assert joined == SHARED[share](one, other)


def test_the_papers_range_of_horizons_is_of_one_condition(few, simulated):
    gaps = few["horizon_gaps"].query("optimizer == 'lars'")
    others = {"architecture": "lstm", "precision": "float32", "split": "50-50"}
    every = pd.concat([gaps, *(gaps.assign(**{name: other}) for name, other in others.items())])
    figure, _ = draw("horizon_gap", {"horizon_gaps": every}, simulated)
    bands = {axes.get_title().replace("\n", " "): len(axes.patches) for axes in figure.axes}
    assert bands.pop("RNN, float64, 80/20") == 1
    assert len(bands) == 3 and not any(bands.values())


def test_every_model_is_a_dot_and_the_mean_line_stops_where_a_seed_diverged(few, simulated):
    curves = few["lr_curves"].query("optimizer == 'sgd'")
    figure, _ = draw("lr_curves", {"lr_curves": curves}, simulated)
    marks = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    assert marks == len(curves)  # dots and crosses together
    by_rate = curves.query("learner == 'immediate'").groupby("learning_rate")
    means, lost = by_rate["recovery_heldout_percent"].mean(), by_rate["diverged"].any()
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == len(means))
    np.testing.assert_allclose(line.get_ydata()[~lost], means[~lost])
    assert np.isnan(line.get_ydata()[lost]).all() and lost.any()


def test_traces_have_the_frozen_models_and_tell_the_last_window(few, simulated):
    keys = few["traces"].iloc[0][KEYS].to_dict()
    errors = {("immediate", 0): 0.111, ("immediate", 1): 0.333, ("rtrl", 0): 0.222}
    traces = pd.DataFrame(
        keys
        | {"learner": learner, "seed": seed, "step": 200 * n, "frozen_error": float(n)}
        | {"error": 0.9 if n < 6 else last}
        for (learner, seed), last in errors.items()
        for n in range(1, 7)
    )
    figure, caption = draw("adaptation_traces", {"traces": traces}, simulated)
    frozen = figure.axes[0].lines[0]
    assert frozen.get_color() == figure.legends[0].get_lines()[-1].get_color()
    # Running mean over five windows, fewer at both ends.
    np.testing.assert_allclose(frozen.get_ydata(), [2, 2.5, 3, 4, 4.5, 5])
    for told in ("immediate, per step: 0.11 to 0.33", "exact RTRL, per step: 0.22"):
        assert f"80/20, {told} in the last window, frozen 6.00" in caption.alt
    assert "per window of 200 steps" in caption.caption and "(n = 1 to 2)" in caption.caption


def test_tost_rows_are_the_intervals_with_the_papers_below(results, simulated):
    figure, caption = draw("tost_interval", results, simulated)
    [axes] = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    marks = [bars.lines[0] for bars in axes.containers]
    marks = [mark for mark in marks if mark.get_markerfacecolor() == "white"]
    assert {labels[int(mark.get_ydata()[0])]: mark.get_xdata()[0] for mark in marks} == {
        "Adam, 50/50": -0.3,
        "SGD, 80/20": -9.93,
        "Adafactor, 80/20": -6.67,
        "Adam, 80/20": -0.34,
        "LARS, 80/20": 25.09,
    }
    headline = load().headline
    (_, _, [ours]), (_, _, [theirs]), *_ = intervals(axes)
    np.testing.assert_allclose(theirs, [-headline["delta_star_pp"], 2.10])
    assert np.mean(theirs) == pytest.approx(headline["gap_pp"]) and labels[0] == "Adam, 50/50"
    rows = results["gaps"].query("optimizer == 'adam' and split == '50-50'")
    rows = rows[rows["comparison"] == "paper"]
    np.testing.assert_allclose(ours, rows[["t90_low_pp", "t90_high_pp"]].to_numpy()[0])
    gap = number(rows["gap_pp"].item(), 2)
    assert caption.alt.startswith(f"Equivalence within the margin. Adam, 50/50: {gap} pp, ")


SAVE = """
import pickle, sys
from orla import catalogue
rows, study = pickle.load(open(sys.argv[1], "rb"))
catalogue.part("figure", "lr_curves")().render(rows, paths=sys.argv[2:], study=study)
"""


def test_rebuilt_bit_for_bit_and_fonts_embedded(few, simulated, tmp_path):
    rows = few["lr_curves"].query("optimizer == 'adam' and learner == 'immediate'")
    pd.to_pickle((rows, simulated), tmp_path / "given.pkl")
    own, other = ([tmp_path / f"{who}.{form}" for form in ("pdf", "png")] for who in "ab")
    env = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SAVE, tmp_path / "given.pkl", *other]
    subprocess.run(command, check=True, env=env)
    catalogue.part("figure", "lr_curves")().render(rows, paths=own, study=simulated)
    assert [path.read_bytes() for path in own] == [path.read_bytes() for path in other]
    data = own[0].read_bytes()
    assert b"CreationDate" not in data and b"/FontFile2" in data and b"/Subtype /Type3" not in data
