"""g_past = g_full - g_imm against autograd through all of the past, step by step."""

import numpy as np
import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    PLAIN,
    SQUARED_ERROR,
    Recorder,
    adapt,
    initial,
    make_learner,
    networks,
    stream,
)

from orla.engine.loop import Loop
from orla.optimizers.sgd import SGD
from orla.probes.past_gradient import PastGradient

STEPS = 24


def run(driver, observer, probe, kind):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    loop = Loop(
        make_learner(driver, architecture),
        SGD(),
        SQUARED_ERROR,
        observers={observer: make_learner(observer, architecture)},
        probes=[probe, Recorder()],
        segment=12,
    )
    rates = torch.full((2,), 0.05, dtype=torch.float64)
    return adapt(loop, networks(architecture), rates, X, Y).series


def truth(series, model, kind):
    """Cosine and ratio a step, by autograd with each step's own weights."""
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    used = [
        {
            n.removeprefix("params "): torch.as_tensor(values[model, t])
            for n, values in series.items()
            if n.startswith("params ")
        }
        for t in range(STEPS)
    ]
    full = oracles.whole_history(step, initial(architecture), used, X, Y)
    local = oracles.immediate(step, initial(architecture), used, X, Y)
    found = []
    for f, g in zip(full, local, strict=True):
        past = np.concatenate([(f[n] - g[n]).numpy().ravel() for n in f])
        now = np.concatenate([g[n].numpy().ravel() for n in f])
        norms = np.linalg.norm(past), np.linalg.norm(now)
        cosine = past @ now / norms[0] / norms[1] if norms[0] > 0 else np.nan
        found.append((cosine, norms[0] / norms[1]))
    return np.array(found).T


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize(
    "driver, observer, probe",
    [
        ("immediate", "rtrl", PastGradient(full="rtrl")),
        ("rtrl", "immediate", PastGradient(full="own", immediate="immediate")),
    ],
)
def test_it_is_autograds_at_every_step(kind, driver, observer, probe):
    series = run(driver, observer, probe, kind)
    for model in range(2):
        cosine, ratio = truth(series, model, kind)
        # At the first step there is no past: the difference of the two gradients is rounding.
        np.testing.assert_allclose(series["past_cosine"][model, 1:], cosine[1:], atol=1e-9)
        np.testing.assert_allclose(series["past_ratio"][model, 1:], ratio[1:], rtol=1e-9)
        assert series["past_ratio"][model, 0] < 1e-12
        assert ratio[1:].max() > 0.05
        other = truth(series, 1 - model, kind)[1]
        assert not np.allclose(series["past_ratio"][model, 1:], other[1:], rtol=1e-3)


def test_the_roles_may_not_be_exchanged():
    """The negative control: full and immediate the wrong way round measure something else."""
    right, wrong = (
        run("immediate", "rtrl", probe, "rnn")["past_ratio"]
        for probe in (PastGradient(full="rtrl"), PastGradient(full="own", immediate="rtrl"))
    )
    assert not np.allclose(right[:, 1:], wrong[:, 1:], rtol=1e-2)


def test_the_readout_alone_has_no_past():
    series = run("last-layer", "immediate", PastGradient(full="immediate"), "rnn")
    assert (series["past_ratio"] == 0).all() and np.isnan(series["past_cosine"]).all()
    assert PastGradient(full="own", immediate="own").observers() == ()
