"""The balance of norms before and after the optimizer, against norms worked out from the run."""

import numpy as np
import pytest
from harness import NETWORKS, PLAIN, make_learner, make_optimizer, networks, stream, watch

from orla.probes.amplification import Amplification

STEPS = 24


def run(kind, optimizer, learner="immediate"):
    architecture, _ = NETWORKS[kind]
    learner, optimizer = make_learner(learner, architecture), make_optimizer(optimizer)
    given = {"rate": 0.01, "optimizer": optimizer, "probes": [Amplification()]}
    return watch(learner, networks(architecture), *stream(STEPS), **given).result.series


def balance(series, what, recurrent):
    """Norm over recurrent arrays over that over the others, (models, updates)."""
    squares = {"inner": 0.0, "outer": 0.0}
    for name, values in series.items():
        if name.startswith(f"{what} "):
            place = "inner" if name.removeprefix(f"{what} ") in recurrent else "outer"
            squares[place] = squares[place] + (values**2).reshape(*values.shape[:2], -1).sum(-1)
    return np.sqrt(squares["inner"] / squares["outer"])


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("optimizer", ["adam", "lars", "signsgd"])
def test_both_balances_are_those_of_the_run(kind, optimizer):
    series = run(kind, optimizer)
    recurrent = NETWORKS[kind][0].recurrent_shapes()
    raw = balance(series, "gradient", recurrent)
    np.testing.assert_allclose(series["raw_balance"], raw, rtol=1e-10)
    params = {n: v for n, v in series.items() if n.startswith("params ")}
    moved = {n.replace("params", "moved"): np.diff(v, axis=1) for n, v in params.items()}
    after = balance(moved, "moved", recurrent)
    np.testing.assert_allclose(series["update_balance"][:, :-1], after, rtol=1e-6)
    assert not np.allclose(after, raw[:, :-1], rtol=1e-2)


def test_sgd_changes_nothing_and_the_summary_is_the_median():
    found = Amplification().summary(run("rnn", "sgd"))
    np.testing.assert_allclose(found["amplification"], 1.0, rtol=1e-10)
    series = {
        "raw_balance": np.array([[1.0, 2.0, 4.0], [0.0, np.nan, np.inf]]),
        "update_balance": np.array([[3.0, 10.0, 8.0], [1.0, 1.0, 1.0]]),
    }
    found = Amplification().summary(series)
    assert found["amplification"][0] == 3.0 and np.isnan(found["amplification"][1])
    assert found["raw_balance"][0] == 2.0 and found["update_balance"].tolist() == [8.0, 1.0]


def test_a_learner_of_the_readout_alone_has_none():
    found = Amplification().summary(run("rnn", "adam", "last-layer"))
    assert all(np.isnan(values).all() for values in found.values())
