"""Figures of the past gradient: every line, map and point is the data."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from drawing import draw, intervals, series
from report_results import KEYS, SIMULATED

from orla.reports.study import where

FULL = "tbptt-200-200"
STUDY = replace(
    SIMULATED, instances={"architecture": {"small": {"kind": "rnn", "hidden": 4}}, "learner": {}}
)


def shuffled(frame):
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def profile(seeds=(0, 1, 2)):
    """Rows of all quantities of a network of four units and nine windows."""
    keys = dict(zip(KEYS, ("recordings", "", "small", FULL, "", "float64", "80-20"), strict=False))
    keys |= {"intervention": "none", "start": "pretrained", "learning_rate": 1e-3}
    generator = np.random.default_rng(0)
    sizes = {"singular_past": 9, "singular_immediate": 9, "turn_cosine": 8, "u1_map": 16}
    rows = [
        keys | {"optimizer": optimizer, "seed": seed, "quantity": quantity}
        | {"index": i, "value": value if "singular" in quantity else -value}
        for optimizer, seed, (quantity, size) in product(("sgd", "lars"), seeds, sizes.items())
        for i, value in enumerate(-np.sort(-generator.uniform(0.01, 1, size)))
    ]  # fmt: skip
    return shuffled(pd.DataFrame(rows))


def values(frame, quantity, seed, optimizer):
    rows = where(frame, quantity=quantity, seed=seed, optimizer=optimizer)
    return rows.sort_values("index")["value"].tolist()


def test_spectra_are_a_line_a_seed_and_kind():
    frame = profile()
    figure, caption = draw("past_spectra", {"profile": frame}, STUDY)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["SGD, 80/20", "LARS, 80/20"]
    for axes, optimizer in zip(figure.axes, ("sgd", "lars"), strict=True):
        assert axes.get_yscale() == axes.get_xscale() == "log" and len(axes.lines) == 6
        drawn = [tuple(line.get_ydata()) for line in axes.lines]
        for quantity in ("singular_past", "singular_immediate"):
            wanted = [tuple(values(frame, quantity, seed, optimizer)) for seed in range(3)]
            found = [drawn.index(one) for one in wanted]
            assert len({axes.lines[i].get_color() for i in found}) == 1
        assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 2
        assert list(axes.lines[0].get_xdata()) == list(range(1, 10))
    assert "n = 3" in caption.caption
    assert series(figure) == ["G_past", "G_imm"]


def test_the_map_is_of_the_first_seed_with_rows_as_in_the_weights():
    frame = profile(seeds=(3, 1))
    figure, caption = draw("past_map", {"profile": frame}, STUDY)
    maps = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(maps) == 2
    for image, optimizer in zip(maps, ("sgd", "lars"), strict=True):
        own = np.abs(values(frame, "u1_map", 1, optimizer))
        np.testing.assert_array_equal(image.get_array(), own.reshape(4, 4))
        assert image.get_array()[1, 0] == own[4]
    most = frame.query("quantity == 'u1_map' and seed == 1")["value"].abs().max()
    assert {image.get_clim() for image in maps} == {(0, most)}
    assert "seed 1" in caption.caption


def test_ratio_gap_plane_has_a_point_per_optimizer_with_both_intervals():
    keys = {"task": "recordings", "pair": "", "architecture": "rnn", "precision": "float64"}
    keys |= {"intervention": "none", "start": "pretrained", "n_seeds": 5}
    kinds = product(enumerate(("80-20", "50-50")), enumerate(("sgd", "lars")))
    rows = [
        keys
        | {"optimizer": optimizer, "split": split, "update_ratio": 3.0 + 2 * i + j}
        | {"update_ratio_t95_low": 2.5 + 2 * i + j, "update_ratio_t95_high": 3.25 + 2 * i + j}
        | {"gap_pp": 10.0 * i - 5 - j}
        | {"t95_low_pp": 10.0 * i - 8 - j, "t95_high_pp": 10.0 * i - 3 - j}
        for (j, split), (i, optimizer) in kinds
    ]
    frame, diamonds = pd.DataFrame(rows), []
    figure, caption = draw("ratio_gap_plane", {"ratio_gap": shuffled(frame)}, STUDY)
    for axes, split in zip(figure.axes, ("80-20", "50-50"), strict=True):
        found = {}
        for bars, (x, y, ends) in zip(axes.containers, intervals(axes), strict=True):
            found.setdefault((x[0], y[0]), {})["lying" if bars.has_xerr else "upright"] = ends[0]
        assert found == {
            (row["update_ratio"], row["gap_pp"]): {
                "lying": pytest.approx([row["update_ratio_t95_low"], row["update_ratio_t95_high"]]),
                "upright": pytest.approx([row["t95_low_pp"], row["t95_high_pp"]]),
            }
            for row in frame[frame["split"] == split].to_dict("records")
        }
        white = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
        diamonds.append(sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in white))
    assert diamonds == [[(4.30, -10), (4.82, -7), (6.20, 0), (10.49, 20)], []]
    assert "Table 3" in caption.caption and "LARS, 80/20: ratio 5.00, gap 5.00 pp" in caption.alt
