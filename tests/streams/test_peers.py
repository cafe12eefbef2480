"""River's models beside networks: their hits by hand, in windows, and as columns of models."""

import json

import numpy as np
import pandas as pd
import pytest
from river import linear_model, multiclass, preprocessing, tree

from orla import catalogue
from orla.errors import OrlaError
from orla.provenance import cost
from orla.results.frames import join_peer_accuracy
from orla.streams import peers, speed
from orla.study import forecast
from orla.study.keys import KEYS
from orla.tasks import river

PROBE = {"kind": "prequential", "window": 50, "skip": 0.25}


def task(**options):
    small = {"kind": "river", "seed": 9, "pretraining": 50, "adapt": 200, "heldout": 50}
    return catalogue.make("task", small | {"window": 50, "chosen_on": 0.5} | options)


def by_hand(name, X, Y):
    """Right or not, of models that River's own classes make here once more."""
    one = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    scaled = preprocessing.StandardScaler() | one
    models = {"tree": tree.HoeffdingTreeClassifier(), "logistic": scaled}
    right = []
    for t, (row, y) in enumerate(zip(map(dict, map(enumerate, X.tolist())), Y, strict=True)):
        if name == "no-change":
            guess = Y[t - 1] if t else None
        elif name == "majority":
            guess = max(sorted(set(Y[:t]), key=list(Y).index), key=list(Y[:t]).count, default=None)
        else:
            guess = models[name].predict_one(row)
            models[name].learn_one(row, int(y))
        right.append(guess == y)
    return np.array(right)


def test_accuracies_are_those_of_the_rows_that_count():
    given = task(peers={"tree": 2, "logistic": 1, "no-change": 1, "majority": 1})
    found, (X, Y, _) = peers.peer_accuracies(given, 0, PROBE), given.labelled_rows(0)
    assert list(found["peer"].unique()) == ["tree", "logistic", "no-change", "majority"]
    for name, rows in found.groupby("peer"):
        windows = 100 * by_hand(name, X[:250], Y[:250])[50:].reshape(4, 50).mean(1)
        np.testing.assert_allclose(rows["accuracy"], windows)
        assert rows["scored"].tolist() == [False, True, True, True]
        assert rows["step"].tolist() == [50, 100, 150, 200]
        assert rows["prequential_accuracy"].unique() == pytest.approx(windows[1:].mean())
    assert list(peers.peer_accuracies(given, 1, PROBE)["peer"].unique()) == ["tree"]


def test_a_forest_follows_its_seed_and_its_rows_are_charged_as_work(monkeypatch):
    X, Y, _ = task(adapt=100).labelled_rows(0)
    monkeypatch.setattr(cost, "_ledger", cost.Ledger())
    first, again, other = (peers.row_hits_and_bytes("forest", seed, X, Y)[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert cost._ledger.steps == {"forest": 3 * len(Y)}


@pytest.mark.parametrize("wrong", [{"wood": 1}, {"forest": -1}])
def test_models_that_river_has_not_and_seeds_that_are_no_number_are_refused(wrong):
    with pytest.raises(OrlaError, match=r'"peers" has .*; give a number of seeds to'):
        task(peers=wrong)
    assert [*peers.PEERS] == [*river.PEERS] == [*forecast.PEER_US]


def test_peer_accuracies_are_joined_to_models_by_task_and_seed():
    models = pd.DataFrame({"task": ["a", "a", "a", "b"], "seed": [0, 1, 0, 0], "x": range(4)})
    beside = pd.DataFrame({"task": ["a", "a", "a"], "seed": [0, 0, 1], "index": [0, 1, 0]})
    beside = beside.assign(peer="forest", prequential_accuracy=[80.0, 80.0, 70.0])
    wide = join_peer_accuracy(models, beside)
    assert wide["forest_accuracy"].fillna(-1).tolist() == [80, 70, 80, -1]
    assert wide["x"].tolist() == [0, 1, 2, 3]


def test_time_is_that_of_the_cost_files_and_memory_is_counted(tmp_path):
    path = str(tmp_path / "t.parquet")
    held = {"cpu_by_phase_s": {"tree": 2.0, "learners": 3.0}, "steps": {"tree": 4, "learners": 6}}
    with pytest.raises(OrlaError, match="cost file is missing"):
        speed.row_microseconds([path], "tree")
    (tmp_path / "t.parquet.cost.json").write_text(json.dumps(held))
    beside = pd.DataFrame({"task": "a", "peer": "tree", "seed": [0, 0, 1], "bytes": [10, 10, 30]})
    other = beside.assign(task="b", peer="forest")  # whose cost file is not read for the first
    (tmp_path / "other.cost.json").write_text(json.dumps(held))
    row, _ = speed.peer_costs({path: beside, str(tmp_path / "other"): other}).to_dict("records")
    assert row == {"task": "a", "peer": "tree", "bytes": 20.0, "us": 5e5}
    job = {"network": {"kind": "rnn", "hidden": 4}, "learner": "immediate", "optimizer": "adam"}
    river = {"kind": "river", "stream": "Hyperplane", "adapt": 200, "heldout": 100}
    parameters = 4 * 10 + 4 * 4 + 4 + 2 * 4 + 2
    for precision, size in (("float64", 8), ("float32-avx2", 4)):
        keys = dict.fromkeys(KEYS, "") | {"precision": precision}
        named = job | {"keys": keys, "format": precision.partition("-")[0]}
        [row] = speed.network_costs({path: [(river, named)]}).to_dict("records")
        # Adam holds two numbers a parameter and the two corrections.
        assert row["bytes"] == pytest.approx(size * 3 * parameters, abs=8 * size)
        assert row["us"] == 5e5
