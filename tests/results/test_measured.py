"""Means of what probes measured, by plain loops over made-up models."""

import numpy as np
import pandas as pd
import pytest
from made_up import models, settings
from scipy import stats

from orla.errors import OrlaError
from orla.results import base
from orla.results.conditions import SCORES
from orla.study.keys import KEYS

PROBED = ["update_ratio", "past_cosine", "condition_number"]


def with_probes(**more):
    """Models with the columns of three probes, each number drawn by itself."""
    frame = models(["immediate", "rtrl"], **more)
    generator = np.random.default_rng(4)
    return frame.assign(
        past_cosine=generator.uniform(-1, 1, len(frame)),
        condition_number=generator.uniform(2, 7, len(frame)),
        no_probes_column=generator.uniform(0, 1, len(frame)),
    )


def build(frame):
    return base.build("measured", {"models": frame}, settings())


def by_loop(frame, key, measure):
    """Values of a condition in the order of seeds, at the rate that is chosen for the measure."""
    chosen = "selected_on_adapt" if measure.startswith("adapt") else "selected"
    rows = [
        row
        for row in frame.to_dict("records")
        if row[chosen] and all(row[name] == key[name] for name in KEYS)
    ]
    return [row[measure] for row in sorted(rows, key=lambda row: row["seed"])]


def test_every_measure_of_every_condition_has_its_mean_and_intervals():
    frame = with_probes(optimizers=["adam", "sgd"], splits=["80-20", "stationary"])
    found = build(frame.sample(frac=1, random_state=0))
    wanted = {*SCORES, *PROBED}
    assert set(found["measure"]) == wanted
    assert len(found) == 2 * 2 * 2 * len(wanted) and found["mean"].nunique() == len(found)
    for row in found.to_dict("records"):
        values = by_loop(frame, row, row["measure"])
        assert row["mean"] == pytest.approx(sum(values) / 5, abs=1e-12)
        spread = (sum((v - row["mean"]) ** 2 for v in values) / 4) ** 0.5
        assert row["sd"] == pytest.approx(spread, rel=1e-10)
        for percent in (95, 90):
            ends = stats.t.interval(percent / 100, 4, row["mean"], spread / 5**0.5)
            assert [row[f"t{percent}_low"], row[f"t{percent}_high"]] == pytest.approx(ends)
        assert (row["n_seeds"], row["n_diverged"]) == (5, 0)


def test_what_was_not_measured_has_no_row_but_a_score_has():
    frame = with_probes()
    own = frame["learner"] == "immediate"
    frame.loc[own, "past_cosine"] = np.nan
    found = build(frame)
    assert set(found.loc[found["measure"] == "past_cosine", "learner"]) == {"rtrl"}
    frame.loc[own, [*SCORES, *PROBED]] = np.nan
    frame.loc[own, "diverged"] = True
    found = build(frame)
    gone = found[found["learner"] == "immediate"]
    assert set(gone["measure"]) == set(SCORES)
    assert (gone["n_seeds"] == 0).all() and (gone["n_diverged"] == 5).all()
    assert gone[["mean", "sd", "t95_low", "t90_high"]].isna().all(axis=None)


def test_tables_that_cannot_be_read_are_refused():
    frame = with_probes()
    with pytest.raises(OrlaError, match="seed 0 occurs twice"):
        build(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(OrlaError, match="marks 2 learning rates"):
        build(frame.assign(selected=True))
    empty = build(frame.iloc[:0])
    assert empty.empty and list(empty.columns) == base.columns()["measured"]
