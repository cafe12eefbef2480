"""Figures: drawn from the data, readable in grey, the same bytes each time, nothing overlapping."""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, intervals, texts
from report_results import KEYS, SIMULATED, make_results

from orla import catalogue
from orla.reports.figures import plots
from orla.reports.numbers import number
from orla.reports.paper import load

NAMES = list(catalogue.parts("figure"))
# The results of these tests have nothing of them; other tests of figures have.
LACKING = {"grad_ratio", "decay_sweep", "accuracy_over_time", "scaling_bci", "tta", "lora_losses"}


@pytest.fixture(scope="module")
def crowded(build_results):
    """Two pairs, two networks, and those of Adam for each further optimizer of the catalogue."""
    sizes = {"pairs": ("one", "other"), "architectures": ("rnn", "lstm"), "splits": ("80-20",)}
    results = build_results(n_seeds=2, **sizes)

    def more(frame):
        if "optimizer" not in frame:
            return frame
        adam = frame[frame["optimizer"] == "adam"]
        others = sorted(set(catalogue.parts("optimizer")) - set(frame["optimizer"]))
        return pd.concat([frame, *(adam.assign(optimizer=name) for name in others)])

    return {name: more(frame) for name, frame in results.items()}


@pytest.fixture(scope="module")
def drawn(results, crowded, simulated):
    """Figure and caption by case and name, each drawn once, when it is first asked for."""
    cases = {"usual": results, "crowded": crowded}
    return cache(lambda case, name: draw(name, cases[case], simulated))


@pytest.mark.parametrize("case", ["crowded", pytest.param("usual", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_readable_and_says_whether_it_is_simulated(name, case, drawn):
    figure, caption = drawn(case, name)
    if name in LACKING:
        assert caption is None and "not run" in texts(figure)[0].get_text()
        return
    assert_readable(figure)
    assert "SIMULATED" in figure.get_suptitle() and caption.caption.startswith("SIMULATED")
    assert "nan" not in (caption.caption + caption.alt).lower()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_called_simulated_and_nothing_run_has_no_caption(name, few, recorded):
    part = catalogue.part("figure", name)
    needed = [few[need] for need in part.part.more["needs"]]
    caption = part().render(*needed, study=recorded)
    assert name in LACKING or "SIMULATED" not in caption.caption + caption.alt
    assert part().render(*(frame.iloc[:0] for frame in needed), study=recorded) is None


SHARED = {
    "all": lambda one, other: True,
    "row": lambda one, other: one[0] == other[0] and int(one[1]) // 4 == int(other[1]) // 4,
    "column": lambda one, other: int(one[1]) % 4 == int(other[1]) % 4,
    "plot": lambda one, other: one == other,
}
ROWS, COLUMNS = {"a": "first", "b": "second"}, {str(i): f"column {i}" for i in range(6)}


@pytest.mark.parametrize("share", SHARED)
def test_columns_beyond_four_stand_below_and_axes_are_shared_as_asked(share):
    figure, axes_of = plots.facets(COLUMNS, ROWS, row_in=1, around_in=0.5, x=share, y=share)
    plt.close(figure)
    assert list(axes_of.values()) == figure.axes and figure.get_figheight() == 4.5
    shape = {key: axes.get_subplotspec() for key, axes in axes_of.items()}
    at = {key: (spec.rowspan.start, spec.colspan.start) for key, spec in shape.items()}
    assert set(at) == {(row, column) for row in ROWS for column in COLUMNS}
    assert at["b", "3"] == (1, 3) and at["a", "4"] == (2, 0) and at["b", "5"] == (3, 1)
    assert axes_of["a", "5"].get_title() == "column 5" and axes_of["b", "5"].get_title() == ""
    assert [text.get_text() for text in texts(figure)].count("second") == 2
    for one, other in combinations(axes_of, 2):
        for of in ("get_shared_x_axes", "get_shared_y_axes"):
            joined = getattr(axes_of[one], of)().joined(axes_of[one], axes_of[other])
            assert joined == SHARED[share](one, other)


@pytest.mark.parametrize(
    "other", [{"architecture": "lstm"}, {"precision": "float32"}, {"split": "50-50"}]
)
def test_the_papers_range_of_horizons_is_of_one_condition(other, results, simulated):
    gaps = results["horizon_gaps"].query("optimizer == 'lars'")
    both = pd.concat([gaps, gaps.assign(**other)])
    figure, _ = draw("horizon_gap", {"horizon_gaps": both}, simulated)
    bands = {axes.get_title(): len(axes.patches) for axes in figure.axes}
    assert bands.pop("RNN, float64, 80/20") == 1 and list(bands.values()) == [0]


def test_every_model_is_a_dot_and_the_mean_line_stops_where_a_seed_diverged(results, drawn):
    figure, _ = drawn("usual", "lr_curves")
    curves = results["lr_curves"]
    marks = sum(len(c.get_offsets()) for axes in figure.axes for c in axes.collections)
    assert marks == len(curves)  # dots and crosses together
    first = curves.query("learner == 'immediate' and optimizer == 'sgd' and split == '80-20'")
    by_rate = first.groupby("learning_rate")
    means, lost = by_rate["recovery_heldout_percent"].mean(), by_rate["diverged"].any()
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == len(means))
    np.testing.assert_allclose(line.get_ydata()[~lost], means[~lost])
    assert np.isnan(line.get_ydata()[lost]).all() and lost.any()


def test_traces_have_the_frozen_models_and_tell_the_last_window(results, simulated):
    keys = results["traces"].iloc[0][KEYS].to_dict()
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


def test_tost_rows_are_the_intervals_with_the_papers_below(results, drawn):
    figure, caption = drawn("usual", "tost_interval")
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
    assert caption.alt.startswith("Equivalence within the margin. Adam, 50/50: ")
    gap = number(rows["gap_pp"].item(), 2)
    assert f"Adam, 50/50: {gap} pp, " in caption.alt


SAVED = ["lr_curves", *(name for name in NAMES[::3] if name != "lr_curves")]


def save_all(folder):
    """Save some figures of a few results in a folder; answers the sums of the files."""
    made = make_results(n_seeds=2, splits=("80-20",))
    few = "optimizer in ('adam', 'lars') and learner in ('immediate', 'tbptt-200-200')"
    made |= {name: made[name].query(few) for name in ("lr_curves", "traces")}
    for name in SAVED:
        figure = catalogue.part("figure", name)
        forms = ("pdf", "png") if name == "lr_curves" else ("pdf",)
        paths = [Path(folder) / f"{name}.{form}" for form in forms]
        needed = [made[need] for need in figure.part.more["needs"]]
        figure().render(*needed, paths=paths, study=SIMULATED)
    files = sorted(Path(folder).iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_rebuilt_bit_for_bit_and_fonts_embedded(tmp_path):
    script = "import sys, json, test_figures as t; print(json.dumps(t.save_all(sys.argv[1])))"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path]
    env = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(paths)}
    folders = [tmp_path / "other", tmp_path / "own"]
    for folder in folders:
        folder.mkdir()
    command = [sys.executable, "-c", script, str(folders[0])]
    other = subprocess.run(command, check=True, env=env, capture_output=True, text=True).stdout
    sums = save_all(folders[1])
    assert json.loads(other) == sums and len(sums) == len(SAVED) + 1
    for path in folders[1].glob("*.pdf"):
        data = path.read_bytes()
        assert b"CreationDate" not in data
        assert b"/FontFile2" in data
        assert b"/Subtype /Type3" not in data
