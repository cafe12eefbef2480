"""The classifier: River's conventions, a step by autograd, and what comes and goes in a stream."""

import importlib
import pickle
import sys
import types
from itertools import islice

import numpy as np
import pandas as pd
import pytest
import torch
from river import checks, preprocessing

from orla import catalogue
from orla.errors import OrlaError
from orla.streams import OnlineRNN

LONG = "check_bounded_memory_growth"


def rows(count, features=3, classes=2, seed=0):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(count, features))
    Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int) + (X[:, 2] > 1) * (classes - 2)
    return [({f"f{i}": v for i, v in enumerate(x)}, f"c{y}") for x, y in zip(X, Y, strict=True)]


def learned(pairs, **options):
    model = OnlineRNN(**{"hidden": 4} | options)
    for x, y in pairs:
        model.learn_one(x, y)
    return model


def probabilities(model, pairs):
    return [model.predict_proba_one(x) for x, _ in pairs]


@pytest.mark.parametrize("further", [False, pytest.param(True, marks=pytest.mark.full)])
def test_rivers_checks_pass(monkeypatch, further):
    """Each on rows of the first of River's data sets; on all, and a long one, with `-m full`."""
    for name in ("sklearn", "sklearn.datasets"):  # imported, and not used for classifiers
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["sklearn"].datasets = sys.modules["sklearn.datasets"]
    model, met = OnlineRNN(hidden=2), {LONG}
    for check in checks.yield_checks(model):
        if further:
            check(model.clone())
        elif check.__name__ not in met:
            given = getattr(check, "keywords", {})
            check(model.clone(), **{name: [*islice(data, 60)] for name, data in given.items()})
        met.add(check.__name__)
    assert len(met) >= 27 and not model._unit_test_skips()


def test_a_row_is_a_step_of_immediate_derivatives_by_autograd():
    known, new = rows(6), rows(5, seed=1)
    model = learned(known, optimizer="sgd", learning_rate=0.1)
    params = {n: p[0].clone().requires_grad_() for n, p in model._state.params.items()}
    h = model._state.network[0].clone()
    for x, y in new:
        inputs = torch.tensor([x[name] for name in model._features], dtype=torch.float64)
        h = torch.tanh(params["W_ih"] @ inputs + params["W_hh"] @ h.detach() + params["b_h"])
        logits = params["W_out"] @ h + params["b_out"]
        expected = dict(zip(model._classes, torch.softmax(logits, 0).tolist(), strict=True))
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
        loss = -torch.log_softmax(logits, 0)[model._classes[y]]
        for p, g in zip(params.values(), torch.autograd.grad(loss, params.values()), strict=True):
            p.data -= 0.1 * g
        model.learn_one(x, y)
    for name, p in params.items():
        torch.testing.assert_close(model._state.params[name][0], p.detach(), rtol=0, atol=1e-12)


def test_predictions_change_nothing_and_seeds_decide():
    pairs, ahead = rows(8), rows(3, seed=2)
    model, same, other = (learned(pairs, seed=seed) for seed in (0, 0, 1))
    before = pickle.dumps(model)
    first = probabilities(model, ahead)
    model.predict([x for x, _ in ahead])
    assert pickle.dumps(model) == before
    assert first == probabilities(same, ahead) == probabilities(pickle.loads(before), ahead)
    assert first != probabilities(other, ahead)
    plain = OnlineRNN()
    assert plain.predict_proba_one({"a": 1.0}) == {} and plain.predict_one({"a": 1.0}) is None


def test_batches_are_rows_one_after_another():
    (seen, y), (ahead, _) = (zip(*rows(n, seed=n), strict=True) for n in (8, 4))
    X, named = pd.DataFrame([*seen]), pd.DataFrame([*ahead])
    one, table = learned(zip(seen, y, strict=True)), OnlineRNN(hidden=4).partial_fit(X, y)
    numbered = OnlineRNN(hidden=4).partial_fit(X.to_numpy(), y)
    assert one._probabilities(ahead) == table._probabilities(ahead)
    assert one.predict(ahead)[0] == one.predict_one(ahead[0])
    assert list(numbered.predict(named.to_numpy())) == list(table.predict(named))
    # The state runs through the rows: a row alone is predicted otherwise than after others.
    assert one._probabilities(ahead)[3] != one.predict_proba_one(ahead[3])


@pytest.mark.parametrize(
    ("network", "learner"),
    [("rnn", "rtrl"), ("rnn", "uoro")]
    + [(name, "immediate") for name in sorted({*catalogue.parts("architecture")} - {"stack"})],
)
def test_features_and_classes_come_and_go(network, learner):
    """Also of a network whose state holds its inputs; what it has learned stays."""
    model = learned(rows(3), network=network, learner=learner, hidden=8)
    old, state = dict(model._state.params), model._state.network
    x, y = rows(1, seed=5)[0]
    for lacking in ({"f0": None}, {"f0": float("nan")}, {"unknown": 9.0, "f0": 0.0}):
        given = {k: v for k, v in x.items() if k != "f0"}
        assert model.predict_proba_one(given | lacking) == model.predict_proba_one(given)
    model.learning_rate = 0.0  # so that what is new is seen alone
    model.learn_one(given | {"new": 1.0}, "another")
    assert {*model.predict_proba_one(x)} == {"c0", "c1", "another"}

    def keeps(name):
        return torch.equal(model._state.params[name][tuple(map(slice, old[name].shape))], old[name])

    assert all(map(keeps, old))
    # What is carried goes on where its shape stays.
    widened = state.shape != model._state.network.shape
    assert widened == (network in ("lru", "transformer"))
    assert model._state.step == (4 if learner == "immediate" and not widened else 1)
    if network == "rnn":
        W_ih = model._state.params["W_ih"]
        assert W_ih.shape[-1] == 4 and W_ih[0, :, 3].abs().min() > 0
    model.learning_rate = 0.01
    model.learn_one(x | {"new": 1.0}, y)
    assert not all(map(keeps, old))
    assert sum(model.predict_proba_one(x).values()) == pytest.approx(1)


def test_it_stands_in_a_pipeline_and_learns():
    model = preprocessing.StandardScaler() | OnlineRNN(hidden=8, learning_rate=0.01)
    right = []
    for x, y in rows(200):
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right[100:]) > 0.8


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"f0": 1.0, "colour": "red"}, "typo", "feature 'colour' is 'red', no finite number"),
        ({"f0": "94103"}, "c0", "no finite number"),
        ({"f0": float("inf")}, "c0", "no finite number"),
        ({"f0": 10**400, "new": 1.0}, "c0", "no finite number"),
        ({"new": 1.0}, None, "the class is None"),
        ({"new": 1.0}, float("nan"), "the class is nan"),
        ({"new": 1.0}, ["c0"], "the class is \\['c0'\\]"),
        ([1.0, 2.0], "c0", "a row is list; give a mapping"),
    ],
)
def test_nothing_of_a_refused_row_is_learned(x, y, message):
    model = learned(rows(3))
    before = pickle.dumps(model)
    with pytest.raises(OrlaError, match=message) as error:
        model.learn_one(x, y)
    assert "\n" not in str(error.value) and pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("learner", "message"), [("tbptt-20-20", "updates every 20 rows"), ("nothing", "unknown")]
)
def test_a_learner_that_does_not_fit_and_a_model_that_learned_nothing_are_refused(learner, message):
    model = OnlineRNN(learner=learner)
    with pytest.raises(OrlaError, match=message):
        model.learn_one({"a": 1.0}, 1)
    with pytest.raises(OrlaError, match="call partial_fit"):
        model.predict([{"a": 1.0}])


@pytest.mark.parametrize(
    "classes", [("s", 2), (True, "1"), ((1, 2), (3, 4)), (3, 7), (np.int64(3), np.int64(7)), "ab"]
)
def test_predictions_are_classes_as_they_were_learned(classes):
    pairs = [({"f": (-1.0) ** i}, classes[i % 2]) for i in range(12)]
    labels = learned(pairs, learning_rate=0.1).predict([x for x, _ in pairs])
    assert labels.shape == (12,) and {*labels} == {*classes}
    alike = len({type(name) for name in classes}) == 1 and not isinstance(classes[0], tuple)
    assert (labels.dtype == object) is not alike
    assert labels.tolist() == [c for label in labels for c in classes if c == label]


def test_labels_of_tensors_are_their_numbers():
    X, Y = np.eye(4), torch.tensor([0, 1, 0, 1])
    assert OnlineRNN(hidden=3).partial_fit(X, Y)._classes == {0: 0, 1: 1}


def test_tables_of_other_lengths_or_repeated_names_teach_nothing():
    model, X = OnlineRNN(hidden=3), np.eye(4)
    with pytest.raises(OrlaError, match="X has 4 rows and y 3"):
        model.partial_fit(X, [0, 1, 0])
    for table in (pd.DataFrame(X, columns=list("aabc")), pd.Series([1.0, 2.0]), X[0]):
        with pytest.raises(OrlaError, match="X is no table"):
            model.partial_fit(table, [0, 1, 0, 1])
    assert model._state is None


@pytest.mark.parametrize(
    "options", [{"learning_rate": np.nan}, {"learning_rate": -1}, {"seed": 1.5}, {"hidden": "a"}]
)
def test_options_that_are_no_such_number_are_refused(options):
    with pytest.raises(OrlaError, match=r"OnlineRNN: .* is .*; give a number from 0"):
        OnlineRNN(**options).learn_one({"a": 1.0}, 1)
    OnlineRNN(hidden=np.int64(3)).learn_one({"a": pd.NA}, 1)


def test_a_missing_extra_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "orla.streams")
    with pytest.raises(OrlaError, match=r"pip install 'orla\[streams\]'"):
        importlib.import_module("orla.streams")
