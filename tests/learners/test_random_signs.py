"""UORO and KF-RTRL: every pattern of signs against exact RTRL, and each step against NumPy.

Of all patterns, a model of the batch stands for one, so that a mean over the models is the exact
mean over all draws. The weights are moved by the immediate learner, which draws nothing; the
learner under test watches.
"""

import itertools

import numpy as np
import oracles
import pytest
import torch
from harness import (
    FIXED,
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    Adapting,
    all_learn,
    distance,
    initial,
    make_network,
    networks,
    stream,
    watch,
    with_step,
)
from learners.others import Meeting

from orla import catalogue
from orla.architectures.base import LinearGates
from orla.engine.state import step_noise
from orla.learners.random_signs import KFRTRL, UORO

EXACT, STEPS = 1e-10, 12


def network(kind, units=HIDDEN):
    """Of this size: the network, and its step by other means where there are such."""
    others = {"another": Adapting, "meeting": Meeting}
    made = others[kind](units, N_IN, N_OUT) if kind in others else make_network(kind, units)
    return with_step(made, kind)


LINEAR = [kind for kind, given in NETWORKS.items() if isinstance(given[0], LinearGates)]
LINEAR += ["meeting"]
# (learner, network, units, steps) of which 2^12 or 2^10 patterns are gone through.
SMALL = [(UORO, "rnn", 3, 4), (UORO, "lstm", 2, 3), (UORO, "another", 2, 3)]
SMALL += [(KFRTRL, kind, 3, 5) for kind in LINEAR]


def every_pattern(steps, numbers):
    """Numbers (steps, patterns, numbers), each below or above one half."""
    patterns = torch.tensor(list(itertools.product([0.25, 0.75], repeat=steps * numbers)))
    return patterns.double().view(-1, steps, numbers).transpose(0, 1)


def enumerated(monkeypatch, learner, drawn, rate=0.3):
    """Gradients of each step (patterns, ...), and the weights that each step was taken with."""
    architecture, (steps, patterns, _) = learner.architecture, drawn.shape
    monkeypatch.setattr(
        "orla.engine.update.step_noise",
        lambda seeds, first, steps, *_: drawn[first : first + steps],
    )
    one = networks(architecture, models=1)
    params = {n: p.expand(patterns, *p.shape[1:]).clone() for n, p in one.items()}
    driver = catalogue.make("learner", "immediate", architecture=architecture)
    watched = watch(driver, params, *stream(steps), rate=rate, observers={"it": learner})
    return watched.series("of it"), watched.model(0)[1]


def mean(gradients):
    """Over the models, of each step."""
    return [{name: g.mean(0) for name, g in one.items()} for one in gradients]


@pytest.mark.parametrize(("kind", "name", "units", "steps"), SMALL)
def test_the_mean_over_all_signs_is_exact_rtrl_while_weights_move(
    kind, name, units, steps, monkeypatch
):
    made, step = network(name, units)
    learner = kind(made)
    drawn = every_pattern(steps, learner.noise_size)
    gradients, used = enumerated(monkeypatch, learner, drawn)
    truth = oracles.dense_rtrl(step, initial(made), used, *stream(steps))
    assert distance(mean(gradients), truth) < EXACT
    assert all_learn(truth) and distance([used[-1]], [used[0]]) > 0.01
    for parameter in made.recurrent_shapes():
        assert float(gradients[-1][parameter].std(0).min()) > 1e-6
        assert float((gradients[0][parameter] - truth[0][parameter]).abs().max()) < EXACT
    # The controls: some of the patterns, and signs that are always positive.
    positive = torch.full_like(drawn, 0.75)
    others = [(drawn[:, : 3 * drawn.shape[1] // 4 - 68], True), (positive[:, :1], True)]
    if kind is KFRTRL:
        # Where c1 is positive, or c2 its equal, what u_{t-1} and B_t have in common still has one
        # random sign.
        others += [(torch.cat([positive[:, :, :1], drawn[:, :, 1:]], 2), False)]
        others += [(drawn[:, :, :1].expand_as(drawn), False)]
    for other, biased in others:
        found = mean(enumerated(monkeypatch, learner, other)[0])
        assert (distance(found, truth) > 1e-3) == biased
        assert (distance(found, truth) < EXACT) != biased


def flat(D):
    """(state, all recurrent parameters)."""
    return np.concatenate([d.reshape(len(d), -1) for d in D.values()], 1)


def named(gradient, D):
    """A flat gradient, by parameter."""
    sizes = np.cumsum([d[0].size for d in D.values()])[:-1]
    parts = zip(D.items(), np.split(gradient, sizes), strict=True)
    return {n: torch.as_tensor(g.reshape(d.shape[1:])) for (n, d), g in parts}


def uoro(visited, signs, eps, wrong=""):
    """Algorithm 1 of Tallec and Ollivier (2017), or something like it: gradients of each step."""
    theta, s, norm = 0.0, np.zeros(len(signs[0])), np.linalg.norm
    for (J, D, cotangent, _), nu in zip(visited, signs, strict=True):
        moved, direct = J @ s, nu @ flat(D)
        theta = theta + np.zeros_like(direct)
        rho0 = np.sqrt(norm(theta) / (norm(moved) + eps)) + eps
        rho1 = np.sqrt(norm(direct) / (norm(nu) + eps)) + eps
        if wrong == "unbalanced":
            rho0 = rho1 = 1.0
        yield named((cotangent @ moved) * theta + cotangent @ flat(D), D)
        s = rho0 * moved + rho1 * nu
        theta = (theta * rho0 if wrong == "multiplied" else theta / rho0) + direct / rho1


def kf_rtrl(visited, signs, eps, wrong=""):
    """Algorithm 1 of Mujika et al. (2018), or something like it: gradients of each step."""
    norm, (_, D, _, v) = np.linalg.norm, visited[0]
    u, A = np.zeros_like(v), np.zeros_like(D["b_h"])
    for (J, D, cotangent, v), (c1, c2) in zip(visited, signs, strict=True):
        B, moved = D["b_h"], J @ A
        p1 = np.sqrt((norm(moved) + eps) / (norm(u) + eps))
        p2 = np.sqrt((norm(B) + eps) / (norm(v) + eps))
        if wrong == "unbalanced":
            p1 = p2 = 1.0
        if wrong == "one sign":
            c2 = c1
        u, A = c1 * p1 * u + c2 * p2 * v, c1 / p1 * moved + c2 / p2 * B
        gradient = torch.as_tensor(np.outer(cotangent @ A, u))
        yield {"W_ih": gradient[:, :N_IN], "W_hh": gradient[:, N_IN:-1], "b_h": gradient[:, -1]}


# Each algorithm, and two that it is not.
ALGORITHMS = {
    "uoro": (uoro, "unbalanced", "multiplied"),
    "kf-rtrl": (kf_rtrl, "unbalanced", "one sign"),
}
CASES = [("uoro", kind, 1e-7) for kind in NETWORKS] + [("kf-rtrl", kind, 1e-12) for kind in LINEAR]
CASES += [(name, kind, 1e-2) for name in ALGORITHMS for kind in ("rnn", "lstm")]


@pytest.mark.parametrize(("name", "kind", "eps"), CASES)
def test_each_step_is_the_papers_algorithm_while_weights_move(name, kind, eps):
    (made, step), (X, Y) = network(kind) if kind != "turning" else NETWORKS[kind], stream(STEPS)
    learner = catalogue.make("learner", {"kind": name, "eps": eps}, architecture=made)
    watched = watch(learner, networks(made), X, Y, rate=0.02, seeds=[4, 9])
    signs = np.where(step_noise((4, 9), 0, STEPS, learner.noise_size, X)[:, 1] < 0.5, -1.0, 1.0)
    ours, used = watched.model(1)
    linear = oracles.linearised(step, initial(made), used, X, Y)
    states = oracles.states(step, initial(made), used, X)
    recurrent, one = made.recurrent_shapes(), torch.ones(1, dtype=torch.float64)
    visited = [
        (
            J.numpy(),
            {n: D[n].numpy() for n in recurrent},
            on_state.numpy(),
            torch.cat([x, h[: made.hidden], one]).numpy(),
        )
        for (J, D, on_state, _), x, h in zip(linear, X, states, strict=False)
    ]
    readouts = [{n: g for n, g in step.direct.items() if n not in recurrent} for step in linear]

    def by_hand(algorithm, eps=eps, **given):
        found = ALGORITHMS[name][0](visited, algorithm, eps, **given)
        return [g | readout for g, readout in zip(found, readouts, strict=True)]

    truth = by_hand(signs)
    assert distance(ours, truth) < EXACT
    assert all_learn(truth, FIXED.get(kind, ())) and distance([used[-1]], [used[0]]) > 0.01
    assert distance(ours, by_hand(signs, 1.1 * eps + 1e-6)) > 1e-7
    for wrong in ALGORITHMS[name][1:]:
        assert distance(ours, by_hand(signs, wrong=wrong)) > 1e-7
    assert distance(ours, by_hand(-signs[::-1])) > 1e-3
