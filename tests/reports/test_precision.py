"""Tables and figure of numeric configurations, on made-up models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import settings, varied
from report_results import SIMULATED, build

from orla import catalogue
from orla.reports.table import to_latex
from orla.results import base

PRECISIONS = ("float64", "float32", "narrow")
STUDY = replace(SIMULATED, formats={"narrow": "float32"})


@pytest.fixture(scope="module")
def results():
    models = pd.concat(
        varied(seeds=[("indy", 5)], drawn=10 * i + j, lost=0.1).assign(precision=p, optimizer=o)
        for i, o in enumerate(["adam", "lars"])
        for j, p in enumerate(PRECISIONS)
    ).replace({"learner": {"rtrl": "tbptt-200-200"}})
    compared = settings({"paper": ("tbptt-200-200", "immediate")})
    return {"numerics": base.build("numerics", {"models": models}, compared)}


def test_a_line_a_precision_their_range_and_the_papers(results):
    table = build("precision_grid", results, STUDY)
    [lars] = [panel for panel in table.panels if panel.title.endswith("LARS")]
    first = [row[0] for row in lars.rows]
    assert first[:4] == [*PRECISIONS, "range, float32"]
    assert len(first) == 10 and first[6] == "paper: local CPU, float32, AVX-2 forced"
    assert (lars.rows[6][4], lars.rows[6][-1]) == ("+0.8", "–")
    rows = results["numerics"]
    rows = rows[(rows["choice"] == "rolling") & (rows["optimizer"] == "lars")]
    carried = rows[rows["rates_of"] == "float64"].set_index("precision")["gap_pp"]
    low, high = sorted(carried[["float32", "narrow"]])
    assert lars.rows[3][4] == f"{low:+.1f} to {high:+.1f}".replace("-", "−")
    own = build("precision_local_best", results, STUDY).panels[-1].rows
    gaps = rows[rows["rates_of"] == rows["precision"]].set_index("precision")["gap_pp"]
    shown = [row[3].split(" ")[0].replace("−", "-") for row in own[:3]]
    assert shown == [f"{gaps[name]:+.1f}" for name in PRECISIONS]
    assert "float64 chose" in table.caption and "Kaggle" in to_latex(table)


def test_flips_are_counted_with_the_largest_and_mean_change_of_the_gap(results):
    table, rows = build("precision_flips", results, STUDY), results["numerics"]
    assert len(table.data) == 4 and table.data["n_choices"].eq(4).all()
    for line in table.data.to_dict("records"):
        choice = {"rates by one freezing": "tail"}.get(line["choice"], "rolling")
        some = rows[(rows["choice"] == choice) & (rows["optimizer"] == line["optimizer"])]
        by = some.set_index(["precision", "rates_of"])[["n_flipped", "gap_pp"]].to_dict("index")
        n, moved = 0, []
        for precision in ("float32", "narrow"):
            carried, own = by[precision, "float64"], by[precision, precision]
            n += carried["n_flipped"]
            moved += [abs(own["gap_pp"] - carried["gap_pp"])] * (carried["n_flipped"] > 0)
        assert line["n_flipped"] == n
        changes = [line["largest_change_pp"], line["mean_change_pp"]]
        assert not moved or changes == pytest.approx([max(moved), np.mean(moved)])


def test_the_figure_says_what_it_shows_and_one_precision_has_none(results):
    figure = catalogue.part("figure", "scaling_bci")()
    caption = figure.render(results["numerics"], study=STUDY)
    assert "float64 chose" in caption.caption and "the paper's" in caption.caption
    assert "float32, LARS: " in caption.alt
    assert figure.render(results["numerics"].iloc[:0], study=STUDY) is None
