"""A sweep's tables of gradients, at every rate and seed, and of profiles, at the selected rate."""

import dataclasses

import numpy as np
import pytest
import torch
from drifting import ADAPT, GRID, NETWORK, SEEDS, WINDOW, changed, table
from harness import LEARNERS

from orla import catalogue
from orla.engine.memory import carried_bytes
from orla.optimizers.sgd import SGD
from orla.study import probe_measures, sweep

OBSERVERS = {"exact": "rtrl", "fading": "trace", "frozen": "last-layer"}
PROBES = ["update_ratio", {"kind": "cosine", "against": "exact"}, "cosine"]
MEASURES = ["cosine", "positive_share", "norm_ratio"]


def watched(study, observers=None, probes=PROBES):
    """The study with observers by name, and probes."""
    named = OBSERVERS if observers is None else observers
    made = {
        name: catalogue.make("learner", LEARNERS[kind], architecture=NETWORK)
        for name, kind in named.items()
    }
    loop = dataclasses.replace(
        study.loop, observers=made, probes=[catalogue.make("probe", spec) for spec in probes]
    )
    return dataclasses.replace(study, loop=loop)


@pytest.fixture(scope="module")
def result(study):
    return sweep.sweep(watched(study), GRID, growth=0)


def test_every_model_and_gradient_has_a_row(result):
    rows = result.frames["alignment"]
    by = ["observer", "against", "learning_rate", "seed"]
    assert not rows.duplicated(by).any()
    assert len(rows) == 4 * 2 * len(GRID) * SEEDS
    assert list(rows["observer"].unique()) == ["immediate", *OBSERVERS]
    assert set(rows["against"]) == {"exact", "immediate"}
    models = result.frames["models"].set_index(["learning_rate", "seed"])
    for name in ("selected", "diverged"):
        of_model = models.loc[zip(rows["learning_rate"], rows["seed"], strict=True), name]
        assert (rows[name].to_numpy() == of_model.to_numpy()).all()
    keys = ["architecture", "learner", "optimizer", "precision", "split"]
    assert rows[keys].drop_duplicates().to_numpy().tolist() == [
        ["rnn", "immediate", "sgd", "float64", "50-50"]
    ]


@pytest.mark.parametrize("rate", [0.03, 0.1])
def test_its_numbers_are_those_of_the_probes_series(study, result, rate):
    watching = watched(study)
    moments = {n: torch.as_tensor(getattr(study.episode.adapt, n.upper())) for n in ("x", "y")}
    rates = torch.full((SEEDS,), rate, dtype=torch.float64)
    series = watching.loop.run(watching.loop.start(study.networks), rates, moments).series
    rows = result.frames["alignment"][np.isclose(result.frames["alignment"]["learning_rate"], rate)]
    cosine = series["cosine with exact of own"]
    assert cosine.shape == (SEEDS, ADAPT) and np.isfinite(cosine).all()
    for observer, of in {"immediate": "own", "fading": "fading", "exact": "exact"}.items():
        mine = rows[(rows["observer"] == observer) & (rows["against"] == "exact")]
        mine = mine.sort_values("seed")
        cosine = series[f"cosine with exact of {of}"]
        np.testing.assert_allclose(mine["cosine"], cosine.mean(1), rtol=1e-12)
        np.testing.assert_allclose(mine["positive_share"], (cosine > 0).mean(1), rtol=1e-12)
        ratio = np.median(series[f"norm against exact of {of}"], 1)
        np.testing.assert_allclose(mine["norm_ratio"], ratio, rtol=1e-12)
    numbers = rows[rows["observer"].isin(["immediate", "fading"])]["cosine"].round(12)
    assert numbers.nunique() > 4  # no row could be another's unseen
    frozen = rows[(rows["observer"] == "frozen") & (rows["against"] == "exact")]
    assert frozen["cosine"].isna().all() and (frozen["norm_ratio"] == 0).all()


def test_what_a_learner_carries_is_its_own(study, result):
    carried = result.frames["alignment"].groupby("observer")["carried_bytes"].unique()
    loop = watched(study).loop
    assert (
        carried["immediate"].tolist() == [carried_bytes(loop.learner, SGD(), torch.float64)] == [0]
    )
    for name in OBSERVERS:
        assert carried[name].tolist() == [carried_bytes(loop.observers[name], SGD(), torch.float64)]
    # A dense sensitivity, and as many numbers as there are recurrent parameters.
    assert carried["exact"][0] > 8 * 6 * 6 * 10 and carried["fading"][0] == 8 * 6 * 10


def test_a_driver_that_watches_itself_has_one_row(study):
    twin = watched(study, {"immediate": "immediate", "exact": "rtrl"}, PROBES[:2])
    rows = table("alignment", twin, [0.03])
    assert rows["observer"].tolist() == ["immediate"] * SEEDS + ["exact"] * SEEDS
    alone = table("alignment", watched(study, {"exact": "rtrl"}, PROBES[:2]), [0.03])
    np.testing.assert_allclose(rows[MEASURES], alone[MEASURES], rtol=1e-12)


def test_a_diverged_model_has_no_measures(study):
    far = changed(watched(study), slice(100, 101), 1e5)
    rows = table("alignment", far, [1e-10])
    assert rows["diverged"].all() and rows[MEASURES].isna().all(axis=None)
    assert rows["carried_bytes"].notna().all()


def test_a_condition_without_such_a_probe_has_columns_and_no_row(study, swept):
    rows = swept.frames["alignment"]
    assert len(rows) == 0
    assert list(rows) == [*study.keys, "seed", "learning_rate", "observer", "against"]
    assert not set(MEASURES) & set(rows)


def test_batches_do_not_matter(study, result):
    rows = table("alignment", dataclasses.replace(watched(study), batch_models=1), [0.03])
    theirs = result.frames["alignment"].query("learning_rate == 0.03")
    np.testing.assert_allclose(rows[MEASURES], theirs[MEASURES], rtol=1e-9)


PROBE = {"kind": "past_structure", "full": "exact", "immediate": "own", "window": WINDOW}


def profiled(study, probe=PROBE):
    return watched(study, {"exact": "rtrl"}, [probe])


@pytest.fixture(scope="module")
def profiles(study):
    return sweep.sweep(profiled(study), GRID, growth=0)


def test_it_has_the_profiles_of_the_selected_models_alone(study, profiles):
    rows, models = profiles.frames["profile"], profiles.frames["models"]
    [rate] = rows["learning_rate"].unique()
    assert rate == models.loc[models["selected"], "learning_rate"].unique()
    moments = {n: torch.as_tensor(getattr(study.episode.adapt, n.upper())) for n in ("x", "y")}
    loop = profiled(study).loop
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


def test_a_model_that_diverged_has_no_profile(study):
    lengths = {"turn_cosine": 3, "singular_past": 1, "singular_immediate": 1, "u1_map": 1}
    measures = {
        (probe_measures.ProbeMeasures, name): np.ones((2, n)) for name, n in lengths.items()
    }
    measures |= {"diverged": np.array([False, True]), "selected": np.array([True, True])}
    rows = list(probe_measures.ProbeMeasures().rows(profiled(study), {-4: measures}))
    assert {row.seed for row in rows} == {0} and sum(len(row.value) for row in rows) == 3 + 3


def test_a_condition_without_profiles_has_their_columns(study):
    swept = sweep.sweep(profiled(study, "update_ratio"), GRID[:1], growth=0)
    assert swept.frames["profile"].empty
    assert list(swept.frames["profile"]) == list(table("profile", profiled(study), GRID[:1]))
