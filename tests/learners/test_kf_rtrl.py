"""KF-RTRL: every pattern of signs against exact RTRL, and each step against NumPy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from harness import (
    N_IN,
    N_OUT,
    NETWORKS,
    Normalised,
    all_learn,
    distance,
    make_network,
    networks,
    stream,
    watch,
    with_step,
)
from signs import enumerated, every_pattern, exact, linearised, mean

from orla import catalogue
from orla.architectures.base import LinearGates
from orla.engine.state import noise
from orla.errors import OrlaError
from orla.learners.kf_rtrl import KFRTRL
from orla.learners.uoro import UORO

EXACT = 1e-10
STEPS = 12


@dataclass(frozen=True)
class Meeting(Normalised):
    """Units that meet before they act, and say so."""

    units_independent: ClassVar[bool] = False


LINEAR = {k: given for k, given in NETWORKS.items() if isinstance(given[0], LinearGates)}
LINEAR["meeting"] = (Meeting(5, N_IN, N_OUT), Meeting(5, N_IN, N_OUT).step)


def small(kind, units=3):
    network = Meeting(units, N_IN, N_OUT) if kind == "meeting" else make_network(kind, units)
    return with_step(network, kind)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("kind", LINEAR)
def test_its_mean_over_all_signs_is_exact_rtrl(kind, rate, monkeypatch):
    network, step = small(kind)
    drawn = every_pattern(5, 2)
    gradients, used = enumerated(monkeypatch, KFRTRL(network), drawn, rate)
    truth = exact(network, step, used)
    assert distance(mean(gradients), truth) < EXACT
    assert all_learn(truth) and (distance([used[-1]], [used[0]]) > 0.01) == (rate > 0)
    for name in network.recurrent_shapes():
        assert float(gradients[-1][name].std(0).min()) > 1e-6
    # The controls: some of the patterns, signs that are always positive, and one that is. Where c1
    # is positive, or c2 its equal, what u_{t-1} and B_t have in common still has one random sign.
    positive = torch.full_like(drawn, 0.75)
    one = torch.cat([positive[:, :, :1], drawn[:, :, 1:]], 2)
    equal = drawn[:, :, :1].expand_as(drawn)
    for other, biased in ((drawn[:, :700], True), (positive, True), (one, False), (equal, False)):
        found = mean(enumerated(monkeypatch, KFRTRL(network), other, rate)[0])
        assert (distance(found, truth) > 1e-3) == biased
        assert (distance(found, truth) < EXACT) != biased


@pytest.mark.parametrize("kind", [KFRTRL, UORO])
def test_the_first_step_is_exact_and_the_later_ones_in_the_mean_alone(kind, monkeypatch):
    network, step = small("rnn")
    numbers = kind(network).noise
    drawn = every_pattern(12 // numbers, numbers)[-4:]
    gradients, used = enumerated(monkeypatch, kind(network), drawn, 0.0)
    truth = exact(network, step, used)
    assert distance(mean(gradients), truth) < EXACT
    pairs = zip(gradients, truth, strict=True)
    first, *later = [float((g["W_ih"] - t["W_ih"]).abs().max()) for g, t in pairs]
    assert first < EXACT < 1e-3 < min(later)


def test_nothing_is_carried_over_the_start_of_a_trial(monkeypatch):
    network, step = small("lstm")
    starts = torch.tensor([False, False, True, False])
    gradients, used = enumerated(
        monkeypatch, KFRTRL(network), every_pattern(4, 2), 0.3, starts=starts
    )
    truth = exact(network, step, used, first=2)
    assert distance(mean(gradients)[2:], truth) < EXACT
    # The first step of a trial has no noise: the past is gone, and not only out of the mean.
    for name, g in gradients[2].items():
        torch.testing.assert_close(g, truth[0][name].expand_as(g), rtol=1e-9, atol=1e-12)


def by_hand(network, linear, signs, eps, *, wrong=""):
    """Algorithm 1 of Mujika et al. (2018), or something like it: gradients of each step."""
    norm, n_in, found = np.linalg.norm, network.n_in, []
    u, A = np.zeros_like(linear[0][3]), np.zeros_like(linear[0][1]["b_h"])
    for (J, D, cotangent, v, readout), (c1, c2) in zip(linear, signs, strict=True):
        B, moved = D["b_h"], J @ A
        p1 = np.sqrt((norm(moved) + eps) / (norm(u) + eps))
        p2 = np.sqrt((norm(B) + eps) / (norm(v) + eps))
        if wrong == "unbalanced":
            p1 = p2 = 1.0
        if wrong == "one sign":
            c2 = c1
        u, A = c1 * p1 * u + c2 * p2 * v, c1 / p1 * moved + c2 / p2 * B
        gradient = torch.as_tensor(np.outer(cotangent @ A, u))
        parts = {"W_ih": gradient[:, :n_in], "W_hh": gradient[:, n_in:-1], "b_h": gradient[:, -1]}
        found.append(parts | readout)
    return found


@pytest.mark.parametrize("eps", [1e-12, 1e-2])
@pytest.mark.parametrize("kind", LINEAR)
def test_each_step_is_the_papers_algorithm_while_weights_move(kind, eps):
    network, step = LINEAR[kind]
    X, Y = stream(STEPS)
    learner = catalogue.make("learner", {"kind": "kf-rtrl", "eps": eps}, architecture=network)
    watched = watch(learner, networks(network), X, Y, rate=0.02, seeds=[4, 9])
    drawn = noise((4, 9), 0, STEPS, 2, X)
    for model in range(2):
        ours, used = watched.model(model)
        linear, signs = linearised(network, step, used), np.where(drawn[:, model] < 0.5, -1.0, 1.0)
        truth = by_hand(network, linear, signs, eps)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth) and distance([used[-1]], [used[0]]) > 0.01
        for given in ({"eps": 2 * eps + 1e-6}, {"wrong": "unbalanced"}, {"wrong": "one sign"}):
            other = by_hand(network, linear, signs, **({"eps": eps} | given))
            assert distance(ours, other) > 1e-7


def test_a_network_without_pre_activations_is_refused():
    with pytest.raises(OrlaError, match=r"kf-rtrl: the parameters of Adapting.*take uoro"):
        catalogue.make("learner", "kf-rtrl", architecture=NETWORKS["another"][0])
    assert catalogue.make("learner", "uoro", architecture=NETWORKS["another"][0]).noise == 10
