"""A sweep's table of profiles: of each model at the selected rate, what its probe numbers."""

import dataclasses

import numpy as np
import pytest
import torch
from drifting import GRID, NETWORK, SEEDS, WINDOW
from harness import LEARNERS

from orla import catalogue
from orla.study import probed, sweep

PROBE = {"kind": "past_structure", "full": "exact", "immediate": "own", "window": WINDOW}


def watched(study, probes=(PROBE,)):
    exact = catalogue.make("learner", LEARNERS["rtrl"], architecture=NETWORK)
    made = [catalogue.make("probe", spec) for spec in probes]
    loop = dataclasses.replace(study.loop, observers={"exact": exact}, probes=made)
    return dataclasses.replace(study, loop=loop)


@pytest.fixture(scope="module")
def result(study):
    return sweep.sweep(watched(study), GRID, growth=0)


def test_it_has_the_profiles_of_the_selected_models_alone(study, result):
    rows, models = result.frames["profile"], result.frames["models"]
    [rate] = rows["learning_rate"].unique()
    assert rate == models.loc[models["selected"], "learning_rate"].unique()
    moments = {n: torch.as_tensor(getattr(study.episode.adapt, n.upper())) for n in ("x", "y")}
    loop = watched(study).loop
    rates = torch.full((SEEDS,), rate, dtype=torch.float64)
    series = loop.run(loop.start(study.networks), rates, moments).series
    expected = loop.probes[0].profile(series)
    assert set(rows["quantity"]) == set(expected) == set(loop.probes[0].part.more["profiles"])
    assert not rows.duplicated(["quantity", "seed", "index"]).any()
    for name, values in expected.items():
        mine = rows[rows["quantity"] == name].pivot(index="seed", columns="index", values="value")
        np.testing.assert_allclose(mine.to_numpy(), values, rtol=1e-12)
        assert list(mine.columns) == list(range(values.shape[1]))
    assert not np.allclose(expected["u1_map"][0], expected["u1_map"][1])


def test_a_model_that_diverged_is_left_out(study):
    lengths = {"turn_cosine": 3, "singular_past": 1, "singular_immediate": 1, "u1_map": 1}
    measures = {(probed.Probed, name): np.ones((2, n)) for name, n in lengths.items()}
    measures |= {"diverged": np.array([False, True]), "selected": np.array([True, True])}
    rows = list(probed.Probed().rows(watched(study), {-4: measures}))
    assert {row.seed for row in rows} == {0} and sum(len(row.value) for row in rows) == 3 + 3


def test_a_condition_without_such_a_probe_has_columns_and_no_row(study):
    swept = sweep.sweep(watched(study, ["update_ratio"]), GRID[:1], growth=0)
    assert swept.frames["profile"].empty
    assert list(swept.frames["profile"]) == list(
        sweep.sweep(watched(study), GRID[:1], growth=0).frames["profile"]
    )
