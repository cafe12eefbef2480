"""RFLO against Murray's equations, in NumPy and by hand."""

import numpy as np
import pytest
import torch
from harness import (
    NETWORKS,
    adapted,
    all_learn,
    distance,
    held_to,
    make_learner,
    networks,
    stream,
    watch,
)
from learners.leaky import Leaky, rflo

from orla import catalogue
from orla.engine.state import fixed_noise
from orla.errors import OrlaError
from orla.learners.rflo import RFLO

EXACT = 1e-10
STEPS = 24
SEEDS = (3, 11)
LEAKY = {1.0: NETWORKS["rnn"][0], 0.3: Leaky(5, 3, 2)}
LIKE = torch.zeros((), dtype=torch.float64)


def watched(rate, **options):
    """RFLO on a network with this leak while its weights move."""
    learner = RFLO(LEAKY[rate], **options)
    return watch(learner, networks(LEAKY[rate]), *stream(STEPS), rate=0.05, seeds=SEEDS)


@pytest.mark.parametrize(
    ("rate", "leak", "of_trace"),
    [(1.0, None, 0.1), (1.0, 0.4, 0.4), (1.0, 1.0, 1.0), (0.3, None, 0.3), (0.3, 0.1, 0.1)],
)
def test_it_is_murrays_equation_while_weights_move(rate, leak, of_trace):
    X, Y = stream(STEPS)

    def murrays(used, leak=of_trace):
        return rflo(used, X, Y, rate=rate, leak=leak)

    ours, used = held_to(murrays, watched(rate, leak=leak))
    assert distance(ours, murrays([used[0]] * STEPS)) > 1e-3
    assert distance(ours, murrays(used, of_trace - 0.01)) > 1e-4


@pytest.mark.parametrize("rate", LEAKY)
def test_random_feedback_is_drawn_once_a_model(rate):
    X, Y = stream(STEPS)
    run = watched(rate, leak=0.2, feedback="random", feedback_scale=0.5)
    drawn = fixed_noise(SEEDS, 10, LIKE).view(2, 5, 2).numpy() * 0.5 / np.sqrt(2)
    for model in range(2):
        ours, used = run.model(model)
        truth = rflo(used, X, Y, rate=rate, leak=0.2, B=drawn[model])
        assert distance(ours, truth) < EXACT
        assert all_learn(truth)
        for wrong in (None, drawn[1 - model], drawn[model] / 0.5):
            assert distance(ours, rflo(used, X, Y, rate=rate, leak=0.2, B=wrong)) > 1e-2


def test_two_units_by_hand():
    """tau = 2, two steps; every number below is worked out from the paper's equations."""
    network = Leaky(2, 1, 1, rate=0.5)
    params = {
        "W_ih": [[1.0], [-0.5]],
        "W_hh": [[0.5, -1.0], [0.25, 0.0]],
        "b_h": [0.0, 0.1],
        "W_out": [[2.0, -1.0]],
        "b_out": [0.0],
    }
    params = {n: torch.tensor([p], dtype=torch.float64) for n, p in params.items()}
    X, Y = torch.tensor([[1.0], [0.5]]).double(), torch.tensor([[0.0], [1.0]]).double()
    ours, _ = watch(RFLO(network), params, X, Y).model(0)

    def phi1(u):
        return 1 - np.tanh(u) ** 2

    # Step 1 from h = 0: u = (1, -0.4), h = tanh(u) / 2.
    h1 = np.tanh(1.0) / 2, np.tanh(-0.4) / 2
    error = 2 * (2 * h1[0] - h1[1] - 0.0)
    q = 0.5 * phi1(1.0) * 1.0, 0.5 * phi1(-0.4) * 1.0  # of the inputs
    assert ours[0]["W_ih"].flatten().tolist() == pytest.approx(
        [2.0 * error * q[0], -1.0 * error * q[1]], rel=1e-12
    )
    assert not ours[0]["W_hh"].any()
    # Step 2.
    u = 0.5 + 0.5 * h1[0] - h1[1], -0.25 + 0.25 * h1[0] + 0.1
    h2 = h1[0] / 2 + np.tanh(u[0]) / 2, h1[1] / 2 + np.tanh(u[1]) / 2
    error = 2 * (2 * h2[0] - h2[1] - 1.0)
    p = [[0.5 * phi1(u[i]) * h1[j] for j in range(2)] for i in range(2)]
    expected = [[2.0 * error * p[0][j] for j in range(2)], [-error * p[1][j] for j in range(2)]]
    np.testing.assert_allclose(ours[1]["W_hh"].numpy(), expected, rtol=1e-12)
    q = [q[i] / 2 + 0.5 * phi1(u[i]) * 0.5 for i in range(2)]
    assert ours[1]["W_ih"].flatten().tolist() == pytest.approx(
        [2.0 * error * q[0], -1.0 * error * q[1]], rel=1e-12
    )


def test_with_a_leak_of_one_it_is_immediate_on_a_network_without():
    local, _ = adapted(make_learner("immediate", LEAKY[1.0]), STEPS, rate=0.05)
    assert distance(watched(1.0, leak=1.0).model(0)[0], local) < EXACT
    assert distance(watched(1.0, leak=0.9).model(0)[0], local) > 1e-3


@pytest.mark.parametrize("kind", ["lstm", "another"])
def test_a_network_that_does_not_fit_is_refused(kind):
    message = "one pre-activation each.*network lstm have 2 and 4" if kind == "lstm" else "Adapting"
    with pytest.raises(OrlaError, match=message):
        RFLO(NETWORKS[kind][0])


@pytest.mark.parametrize(
    ("option", "value"),
    [("leak", 0.0), ("leak", 1.1), ("feedback", "symmetric"), ("feedback_scale", 0.0)],
)
def test_an_option_out_of_range_is_refused(option, value):
    with pytest.raises(OrlaError, match=f'"{option}"'):
        catalogue.make("learner", {"kind": "rflo", option: value}, architecture=LEAKY[1.0])
