"""UORO: every pattern of signs against exact RTRL, and each step against NumPy."""

import numpy as np
import pytest
import torch
from harness import (
    FIXED,
    N_IN,
    N_OUT,
    NETWORKS,
    Adapting,
    all_learn,
    distance,
    make_network,
    networks,
    stream,
    watch,
    with_step,
)
from signs import enumerated, every_pattern, exact, flat, linearised, mean, named

from orla import catalogue
from orla.engine.state import noise
from orla.errors import OrlaError
from orla.learners.uoro import UORO

EXACT = 1e-10
STEPS = 12
# (units, steps) of which 2^12 patterns are gone through.
SMALL = {"rnn": (3, 4), "lstm": (2, 3), "another": (2, 3)}


def small(kind):
    units, steps = SMALL[kind]
    network = Adapting(units, N_IN, N_OUT) if kind == "another" else make_network(kind, units)
    network, step = with_step(network, kind)
    return network, step, every_pattern(steps, network.state_size)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("kind", SMALL)
def test_its_mean_over_all_signs_is_exact_rtrl(kind, rate, monkeypatch):
    network, step, drawn = small(kind)
    assert drawn.shape[1] == 4096
    gradients, used = enumerated(monkeypatch, UORO(network), drawn, rate)
    truth = exact(network, step, used)
    assert distance(mean(gradients), truth) < EXACT
    assert all_learn(truth) and (distance([used[-1]], [used[0]]) > 0.01) == (rate > 0)
    for name in network.recurrent_shapes():
        assert float(gradients[-1][name].std(0).min()) > 1e-6
    # The controls: some of the patterns, and signs that are always positive.
    some, _ = enumerated(monkeypatch, UORO(network), drawn[:, :3000], rate)
    assert distance(mean(some), truth) > 1e-3
    positive, _ = enumerated(monkeypatch, UORO(network), 0.0 * drawn[:, :1] + 0.75, rate)
    assert distance(mean(positive), truth) > 1e-3


def test_nothing_is_carried_over_the_start_of_a_trial(monkeypatch):
    network, step, drawn = small("rnn")
    starts = torch.tensor([False, False, True, False])
    gradients, used = enumerated(monkeypatch, UORO(network), drawn, 0.3, starts=starts)
    assert distance(mean(gradients)[2:], exact(network, step, used, first=2)) < EXACT
    # What came before is gone, and not only out of the mean; the trial's own first signs are not.
    by_past = gradients[3]["W_ih"].view(64, 8, 8, *gradients[3]["W_ih"].shape[1:])
    assert torch.equal(by_past, by_past[:1].expand_as(by_past))
    assert not torch.equal(by_past, by_past[:, :1].expand_as(by_past))


def by_hand(linear, nus, eps, *, wrong=""):
    """Algorithm 1 of Tallec and Ollivier (2017), or something like it: gradients of each step."""
    theta, s, found = 0.0, np.zeros(len(nus[0])), []
    for (J, D, cotangent, _, readout), nu in zip(linear, nus, strict=True):
        moved, direct = J @ s, nu @ flat(D)
        theta = theta + np.zeros_like(direct)
        rho0 = np.sqrt(np.linalg.norm(theta) / (np.linalg.norm(moved) + eps)) + eps
        rho1 = np.sqrt(np.linalg.norm(direct) / (np.linalg.norm(nu) + eps)) + eps
        if wrong == "unbalanced":
            rho0 = rho1 = 1.0
        found.append(named((cotangent @ moved) * theta + cotangent @ flat(D), D, readout))
        s = rho0 * moved + rho1 * nu
        theta = (theta * rho0 if wrong == "multiplied" else theta / rho0) + direct / rho1
    return found


@pytest.mark.parametrize(
    ("kind", "eps"), [*((kind, 1e-7) for kind in NETWORKS), ("rnn", 1e-2), ("lstm", 1e-2)]
)
def test_each_step_is_the_papers_algorithm_while_weights_move(kind, eps):
    network, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    learner = catalogue.make("learner", {"kind": "uoro", "eps": eps}, architecture=network)
    watched = watch(learner, networks(network), X, Y, rate=0.02, seeds=[4, 9])
    drawn = noise((4, 9), 0, STEPS, network.state_size, X)
    for model in range(2):
        ours, used = watched.model(model)
        linear, nus = linearised(network, step, used), np.where(drawn[:, model] < 0.5, -1.0, 1.0)
        truth = by_hand(linear, nus, eps)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth, FIXED.get(kind, ())) and distance([used[-1]], [used[0]]) > 0.01
        for given in ({"eps": 1.1 * eps + 1e-6}, {"wrong": "unbalanced"}, {"wrong": "multiplied"}):
            assert distance(ours, by_hand(linear, nus, **({"eps": eps} | given))) > 1e-7
        assert distance(ours, by_hand(linear, -nus[::-1], eps)) > 1e-3


def test_a_wrong_balance_is_biased_and_none_is_not():
    """By hand over all patterns: what divides one factor has to multiply the other."""
    network, step = make_network("rnn", 2), NETWORKS["rnn"][1]
    used = [{n: p[0] for n, p in networks(network, models=1).items()}] * 3
    linear, truth = linearised(network, step, used), exact(network, step, used)
    nus = 4 * every_pattern(3, 2).transpose(0, 1).numpy() - 2

    def averaged(**given):
        every = [by_hand(linear, nu, 1e-7, **given) for nu in nus]
        return [{n: sum(g[t][n] for g in every) / len(every) for n in truth[t]} for t in range(3)]

    assert set(np.unique(nus)) == {-1.0, 1.0} and len(nus) == 64
    assert distance(averaged(), truth) < EXACT
    assert distance(averaged(wrong="unbalanced"), truth) < EXACT
    assert distance(averaged(wrong="multiplied"), truth) > 1e-2


@pytest.mark.parametrize("eps", [0.0, -1.0])
def test_norms_that_could_be_divided_by_zero_are_refused(eps):
    with pytest.raises(OrlaError, match='"eps" must be'):
        catalogue.make("learner", {"kind": "uoro", "eps": eps}, architecture=NETWORKS["rnn"][0])
