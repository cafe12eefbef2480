"""A sweep's tables of gradients, at every rate and seed, and of profiles, at the selected rate."""

import dataclasses

import numpy as np
import pytest
import torch
from drifting import NETWORK, SEEDS, WINDOW, changed, table
from harness import LEARNERS

from orla import catalogue
from orla.engine.memory import learner_bytes
from orla.optimizers.sgd import SGD
from orla.study import probe_measures, sweep

GRID = [0.03, 0.1]
# The first has a name that the sweep uses itself.
OBSERVERS = {"frozen": "rtrl", "fading": "trace", "readout": "last-layer"}
PROBES = ["update_ratio", {"kind": "cosine", "against": "frozen"}, "cosine"]
MEASURES = ["cosine", "positive_share", "norm_ratio"]


def watched(study, observers=None, probes=PROBES):
    """The study with observers by name, and probes."""
    named = OBSERVERS if observers is None else observers
    made = {
        name: catalogue.make("learner", LEARNERS[kind], architecture=NETWORK)
        for name, kind in named.items()
    }
    made_probes = [catalogue.make("probe", spec) for spec in probes]
    loop = dataclasses.replace(study.loop, observers=made, probes=made_probes)
    return dataclasses.replace(study, loop=loop)


def series_of(study, rate):
    """What the probes measure of a run of all seeds at one rate."""
    adapt = study.episode.adapt
    stream = {"x": torch.as_tensor(adapt.X), "y": torch.as_tensor(adapt.Y)}
    rates = torch.full((SEEDS,), rate, dtype=torch.float64)
    return study.loop.run(study.loop.start(study.networks), rates, stream).series


@pytest.fixture(scope="module")
def result(study):
    return sweep.sweep(watched(study), GRID, growth=0, stable_windows=1)


def test_every_model_and_gradient_has_a_row(study, result):
    rows = result.wide_tables["alignment"]
    by = ["observer", "against", "learning_rate", "seed"]
    assert not rows.duplicated(by).any()
    assert len(rows) == 4 * 2 * len(GRID) * SEEDS
    assert list(rows["observer"].unique()) == ["immediate", *OBSERVERS]
    assert set(rows["against"]) == {"frozen", "immediate"}
    models = result.wide_tables["models"].set_index(["learning_rate", "seed"])
    for name in ("selected", "diverged"):
        of_model = models.loc[zip(rows["learning_rate"], rows["seed"], strict=True), name]
        assert (rows[name].to_numpy() == of_model.to_numpy()).all()
    assert rows[list(study.keys)].drop_duplicates().to_numpy().tolist() == [[*study.keys.values()]]


def test_alignment_measures_are_means_and_medians_of_the_probes_series(study, result):
    rate, rows = GRID[1], result.wide_tables["alignment"]
    series = series_of(watched(study), rate)
    rows = rows[(rows["learning_rate"] == rate) & (rows["against"] == "frozen")]
    rows = rows.sort_values("seed").set_index("observer")
    for observer, of in {"immediate": "own", "fading": "fading", "frozen": "frozen"}.items():
        mine, cosine = rows.loc[observer], series[f"cosine with frozen of {of}"]
        np.testing.assert_allclose(mine["cosine"], cosine.mean(1), rtol=1e-12)
        np.testing.assert_allclose(mine["positive_share"], (cosine > 0).mean(1), rtol=1e-12)
        ratio = np.median(series[f"norm against frozen of {of}"], 1)
        np.testing.assert_allclose(mine["norm_ratio"], ratio, rtol=1e-12)
    assert rows.loc[["immediate", "fading"], "cosine"].round(12).nunique() == 4  # no row is another
    readout = rows.loc["readout"]
    assert readout["cosine"].isna().all() and (readout["norm_ratio"] == 0).all()


def test_carried_bytes_are_the_memory_of_each_rows_own_learner(study, result):
    carried = result.wide_tables["alignment"].groupby("observer")["carried_bytes"].unique()
    loop = watched(study).loop
    for name, learner in {"immediate": loop.learner, **loop.observers}.items():
        assert carried[name].tolist() == [learner_bytes(learner, SGD(), torch.float64)]
    # A dense sensitivity, and as many numbers as there are recurrent parameters.
    assert carried["frozen"][0] > 8 * 6 * 6 * 10 and carried["fading"][0] == 8 * 6 * 10
    assert carried["immediate"][0] == 0


def test_driving_learner_that_is_also_an_observer_has_one_alignment_row(result, profiles):
    both = (
        each.wide_tables["alignment"].query("against == 'frozen'") for each in (profiles, result)
    )
    rows, theirs = (one[one["observer"].isin(["immediate", "frozen"])] for one in both)
    assert len(rows) == len(profiles.wide_tables["alignment"]) == 2 * len(GRID) * SEEDS
    assert not profiles.table.drop(columns="value").duplicated().any()
    np.testing.assert_allclose(rows[MEASURES], theirs[MEASURES], rtol=1e-9)


def test_a_diverged_model_has_no_measures(study):
    far = changed(watched(study, {"fading": "trace"}, ["cosine"]), slice(100, 101), 1e5)
    rows = table("alignment", far, [1e-10])
    assert rows["diverged"].all() and rows[MEASURES].isna().all(axis=None)
    assert rows["carried_bytes"].notna().all()


def test_a_condition_without_such_probes_has_columns_and_no_row(study, swept, profiles):
    rows = swept.wide_tables["alignment"]
    assert len(rows) == 0 and not set(MEASURES) & set(rows)
    assert list(rows) == [*study.keys, "seed", "learning_rate", "observer", "against"]
    assert swept.wide_tables["profile"].empty
    assert list(swept.wide_tables["profile"]) == list(profiles.wide_tables["profile"])


PROBE = {"kind": "past_structure", "full": "frozen", "immediate": "own", "window": WINDOW}


@pytest.fixture(scope="module")
def profiled(study):
    """A driver that watches itself, beside exact RTRL."""
    observers = {"immediate": "immediate", "frozen": "rtrl"}
    return watched(study, observers, [*PROBES[:2], PROBE])


@pytest.fixture(scope="module")
def profiles(profiled):
    return sweep.sweep(profiled, GRID, growth=0, stable_windows=1)


def test_it_has_the_profiles_of_the_selected_models_alone(profiled, profiles):
    rows, models = profiles.wide_tables["profile"], profiles.wide_tables["models"]
    [rate] = rows["learning_rate"].unique()
    assert rate == models.loc[models["selected"], "learning_rate"].unique()
    *_, probe = profiled.loop.probes
    expected = probe.profile(series_of(profiled, rate))
    assert set(rows["quantity"]) == set(expected) == set(probe.part.more["profiles"])
    assert not rows.duplicated(["quantity", "seed", "index"]).any()
    for name, values in expected.items():
        mine = rows[rows["quantity"] == name].pivot(index="seed", columns="index", values="value")
        np.testing.assert_allclose(mine.to_numpy(), values, rtol=1e-12)
        assert list(mine.columns) == list(range(values.shape[1]))
    assert not np.allclose(expected["u1_map"][0], expected["u1_map"][1])


def test_a_model_that_diverged_has_no_profile(study):
    profiled = watched(study, {"frozen": "rtrl"}, [PROBE])
    lengths = {"turn_cosine": 3, "singular_past": 1, "singular_immediate": 1, "u1_map": 1}
    measures = {(probe_measures._PROFILE, name): np.ones((2, n)) for name, n in lengths.items()}
    measures |= {"diverged": np.array([False, True]), "selected": np.array([True, True])}
    rows = list(probe_measures.probe_rows(profiled, {-4: measures}))
    assert {row.seed for row in rows} == {0} and sum(len(row.value) for row in rows) == 3 + 3
