"""Gradients over seeds, by plain loops over a made-up alignment of several observers."""

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION, RATES, settings
from scipy import stats

from orla.results import base

SEEDS, OBSERVERS, REFERENCES = 4, ("immediate", "near", "exact"), ("exact", "near")
MEASURES = ["cosine", "positive_share", "norm_ratio"]


def alignment(**condition):
    generator = np.random.default_rng(3)
    return pd.DataFrame(
        [
            CONDITION
            | condition
            | {
                "seed": seed,
                "learning_rate": rate,
                "diverged": False,
                "selected": rate == RATES[0],
                "observer": observer,
                "against": against,
                "carried_bytes": 8 * len(observer),
                "cosine": generator.uniform(-1, 1),
                "positive_share": generator.uniform(0, 1),
                "norm_ratio": generator.uniform(0, 9),
            }
            for rate in RATES
            for against in REFERENCES
            for observer in OBSERVERS
            for seed in range(SEEDS)
        ]
    )


def build(frame):
    return base.build("learners", {"alignment": frame}, settings())


def values(frame, observer, against, column):
    """By a plain loop, the selected rate alone."""
    return [
        row[column]
        for row in frame.to_dict("records")
        if row["selected"] and row["observer"] == observer and row["against"] == against
    ]


def test_each_gradient_has_a_row_with_means_over_seeds():
    frame = alignment()
    found = build(frame)
    assert len(found) == len(OBSERVERS) * len(REFERENCES)
    for row in found.to_dict("records"):
        own = {m: values(frame, row["observer"], row["against"], m) for m in MEASURES}
        assert all(len(v) == SEEDS for v in own.values())
        for measure in MEASURES:
            assert row[measure] == pytest.approx(np.mean(own[measure]), abs=1e-12)
        for measure in ("cosine", "norm_ratio"):
            ends = stats.t.interval(0.95, SEEDS - 1, np.mean(own[measure]), stats.sem(own[measure]))
            found_ends = [row[f"{measure}_t95_{end}"] for end in ("low", "high")]
            assert found_ends == pytest.approx(ends, abs=1e-12)
        assert (row["n_seeds"], row["n_diverged"]) == (SEEDS, 0)
        assert row["carried_bytes"] == 8 * len(row["observer"])
    assert found["cosine"].round(12).nunique() == len(found)


def test_a_gradient_without_a_cosine_keeps_its_cost():
    frame = alignment()
    frame.loc[frame["observer"] == "near", "cosine"] = np.nan
    row = build(frame).set_index(["observer", "against"]).loc[("near", "exact")]
    assert np.isnan(row["cosine"]) and np.isnan(row["cosine_t95_low"]) and row["n_seeds"] == 0
    assert row["norm_ratio"] > 0 and row["carried_bytes"] == 32
