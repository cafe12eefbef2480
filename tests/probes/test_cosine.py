"""Cosines and norms of gradients against oracles', step by step; their summary by hand."""

import numpy as np
import oracles
import pytest
import torch
from harness import NETWORKS, PLAIN, initial, make_learner, networks, stream, watch

from orla.errors import OrlaError
from orla.probes.base import Update
from orla.probes.cosine import Cosine

STEPS = 24
SHARE = {"immediate": 0.0, "rtrl": 1.0}  # of J, in the recursion P <- J P + D


def run(driver, observers, probes, kind, **masks):
    architecture, _ = NETWORKS[kind]
    driver = make_learner(driver, architecture)
    watching = {name: make_learner(name, architecture) for name in observers}
    given = {"rate": 0.05, "observers": watching, "probes": probes, **masks}
    return watch(driver, networks(architecture), *stream(STEPS), **given)


def flat(linear, of, names):
    """A gradient of each step as rows of numbers, by an oracle with each step's own weights."""
    answers = oracles.recursion(linear, lambda J: SHARE[of] * J)
    return np.array([np.concatenate([one[n].numpy().ravel() for n in names]) for one in answers])


def agreement(a, b):
    """Cosine and ratio of norms of each row of two arrays."""
    sizes = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    return (a * b).sum(1) / sizes[0] / sizes[1], sizes[0] / sizes[1]


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("driver, watched", [("immediate", "rtrl"), ("rtrl", "immediate")])
def test_they_are_autograds_at_every_step(kind, driver, watched):
    ran = run(driver, [watched], [Cosine(), Cosine(against=watched)], kind)
    series, (network, step) = ran.result.series, NETWORKS[kind]
    for model in range(2):
        _, used = ran.model(model)
        linear = oracles.linearised(step, initial(network), used, *stream(STEPS))
        recurrent = network.recurrent_shapes()
        own, theirs = (flat(linear, name, recurrent) for name in (driver, watched))
        for against, of, pair in (
            ("own", watched, (theirs, own)),
            (watched, "own", (own, theirs)),
            (watched, watched, (theirs, theirs)),
        ):
            cosine, ratio = agreement(*pair)
            found = series[f"cosine with {against} of {of}"][model]
            np.testing.assert_allclose(found, cosine, rtol=0, atol=1e-10)
            found = series[f"norm against {against} of {of}"][model]
            np.testing.assert_allclose(found, ratio, rtol=1e-10)
        cosine, ratio = agreement(theirs, own)
        assert cosine.min() < 0.98 and np.ptp(ratio) > 0.05
        # The negative control: with the readout's gradient they would be others.
        with_readout = [flat(linear, name, network.shapes()) for name in (watched, driver)]
        assert not np.allclose(agreement(*with_readout)[0], cosine, atol=1e-3)


def test_every_observer_is_measured_whatever_its_name():
    watched = run("immediate", ["rtrl", "trace", "tbptt-4-1"], [Cosine(against="rtrl")], "rnn")
    series = watched.result.series
    found = Cosine(against="rtrl").by_observer(series)
    assert set(found) == {"own", "rtrl", "trace", "tbptt-4-1"}
    assert found["rtrl"]["cosine"] == pytest.approx(1.0, abs=1e-12)
    assert (found["tbptt-4-1"]["cosine"] > found["own"]["cosine"]).all()
    assert Cosine(against="trace").by_observer(series) == {}


def test_gradients_of_a_window_are_compared_as_sums():
    series = run("tbptt-8-8", ["immediate"], [Cosine()], "rnn").result.series
    assert series["cosine with own of immediate"].shape == (2, STEPS // 8)
    learned, seen = (
        np.concatenate(
            [series[f"{of} {n}"].reshape(2, STEPS // 8, -1) for n in ("W_hh", "W_ih", "b_h")], -1
        )
        for of in ("learned", "of immediate")
    )
    for model in range(2):
        cosine, ratio = agreement(seen[model], learned[model])
        np.testing.assert_allclose(
            series["cosine with own of immediate"][model], cosine, atol=1e-12
        )
        np.testing.assert_allclose(series["norm against own of immediate"][model], ratio)


def test_what_has_no_gradient_has_no_cosine():
    scored = torch.arange(STEPS) % 3 > 0
    series = run("immediate", ["last-layer"], [Cosine()], "rnn", scored=scored).result.series
    assert np.isnan(series["cosine with own of last-layer"]).all()
    ratio = series["norm against own of last-layer"]
    assert (np.isnan(ratio) == ~scored.numpy()).all() and (ratio[:, scored] == 0).all()
    found = Cosine().by_observer(series)["last-layer"]
    assert np.isnan(found["cosine"]).all() and (found["norm_ratio"] == 0).all()


def measured(own, theirs, **more):
    """By hand: own and another's gradient of W (a vector), W_out not being recurrent."""
    gradients = [{"W": torch.tensor(g), "W_out": torch.tensor([1.0])} for g in (own, theirs)]
    weights = {"W": torch.zeros(2), **more}
    update = Update(
        weights, {}, {"b": gradients[1]}, gradients[0], {}, torch.zeros(1), {}, None, weights
    )
    _, found = Cosine().measure({}, update)
    return float(found["cosine with own of b"]), float(found["norm against own of b"])


def test_by_hand():
    assert measured([3.0, 4.0], [6.0, 8.0]) == (1.0, 2.0)
    assert measured([3.0, 4.0], [-4.0, 3.0]) == (0.0, 1.0)
    assert measured([1.0, 0.0], [-3.0, 0.0]) == (-1.0, 3.0)
    # A parameter that neither learner changes is no part of it.
    assert measured([3.0, 4.0], [6.0, 8.0], b=torch.zeros(5)) == (1.0, 2.0)


def test_the_summary_leaves_out_updates_without_a_cosine():
    series = {
        "cosine with a of b": np.array([[np.nan, 0.5, -0.1, 0.2], [np.nan] * 4]),
        "norm against a of b": np.array([[np.inf, 1.0, 9.0, 2.5], [np.nan, 0.0, 2.0, np.nan]]),
    }
    found = Cosine(against="a").by_observer(series)["b"]
    np.testing.assert_allclose(found["cosine"], [0.2, np.nan])
    np.testing.assert_allclose(found["positive_share"], [2 / 3, np.nan])
    np.testing.assert_allclose(found["norm_ratio"], [2.5, 1.0])
    assert list(found) == list(Cosine.part.more["observed"])


def test_a_reference_that_does_not_watch_is_refused():
    assert (Cosine().observers(), Cosine(against="rtrl").observers()) == ((), ("rtrl",))
    with pytest.raises(OrlaError, match="probe cosine reads the observer 'rtrl', which is not"):
        run("immediate", ["trace"], [Cosine(against="rtrl")], "rnn")
