"""g_past = g_full - g_imm against the dense recursion, step by step."""

import numpy as np
import oracles
import pytest
import torch
from harness import NETWORKS, PLAIN, initial, make_learner, networks, stream, watch

from orla.probes.base import Update
from orla.probes.past_gradient import PastGradient

STEPS = 24


def run(driver, observer, probe, kind):
    architecture, _ = NETWORKS[kind]
    watching = {"observers": {observer: make_learner(observer, architecture)}, "probes": [probe]}
    driver = make_learner(driver, architecture)
    return watch(driver, networks(architecture), *stream(STEPS), rate=0.05, **watching)


def truth(watched, model, kind):
    """Cosine and ratio a step, by dense Jacobians with each step's own weights."""
    architecture, step = NETWORKS[kind]
    _, used = watched.model(model)
    linear = oracles.linearised(step, initial(architecture), used, *stream(STEPS))
    full, local = (oracles.recursion(linear, lambda J, f=f: f * J) for f in (1.0, 0.0))
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
    watched = run(driver, observer, probe, kind)
    series, truths = watched.result.series, [truth(watched, model, kind) for model in range(2)]
    for model, (cosine, ratio) in enumerate(truths):
        # At the first step there is no past: the difference of the two gradients is rounding.
        np.testing.assert_allclose(series["past_cosine"][model, 1:], cosine[1:], atol=1e-9)
        np.testing.assert_allclose(series["past_ratio"][model, 1:], ratio[1:], rtol=1e-9)
        assert series["past_ratio"][model, 0] < 1e-12
        assert ratio[1:].max() > 0.05
        other = truths[1 - model][1]
        assert not np.allclose(series["past_ratio"][model, 1:], other[1:], rtol=1e-3)


def test_the_roles_may_not_be_exchanged():
    """The negative control: full and immediate the wrong way round measure something else."""
    right, wrong = (
        run("immediate", "rtrl", probe, "rnn").result.series["past_ratio"]
        for probe in (PastGradient(full="rtrl"), PastGradient(full="own", immediate="rtrl"))
    )
    assert not np.allclose(right[:, 1:], wrong[:, 1:], rtol=1e-2)


def test_the_readout_alone_has_no_past():
    series = run("last-layer", "immediate", PastGradient(full="immediate"), "rnn").result.series
    assert (series["past_ratio"] == 0).all() and np.isnan(series["past_cosine"]).all()
    assert PastGradient(full="own", immediate="own").observers() == ()


def measured(imm, full, probe=None):
    imm, full = ({"W": torch.tensor(g), "b": torch.tensor([0.0])} for g in (imm, full))
    update = Update(imm, {}, {"rtrl": full}, imm, {}, torch.zeros(1), {}, torch.zeros(()), imm)
    _, found = (probe or PastGradient(full="rtrl")).measure({}, update)
    return {name: float(value) for name, value in found.items()}


def test_past_is_the_full_gradient_less_the_immediate_one():
    found = measured([3.0, 4.0], [3.0 + 8.0, 4.0 - 6.0])
    assert found == {"past_cosine": 0.0, "past_ratio": 2.0}
    assert measured([3.0, 4.0], [1.5, 2.0]) == pytest.approx(
        {"past_cosine": -1.0, "past_ratio": 0.5}
    )
    swapped = PastGradient(full="own", immediate="rtrl")
    assert measured([9.0, 0.0], [3.0, 0.0], swapped)["past_ratio"] == 2.0


def test_an_update_without_a_past_leaves_the_mean_to_the_others():
    first = measured([3.0, 4.0], [3.0, 4.0])
    assert np.isnan(first["past_cosine"]) and first["past_ratio"] == 0.0
    series = {
        "past_cosine": np.array([[np.nan, 0.5, -0.1], [np.nan, np.nan, np.nan]]),
        "past_ratio": np.array([[0.0, 1.0, np.inf], [np.nan, 1.0, 3.0]]),
    }
    summary = PastGradient(full="rtrl").summary(series)
    np.testing.assert_allclose(summary["past_cosine"], [0.2, np.nan])
    np.testing.assert_allclose(summary["past_ratio"], [0.5, 2.0])
