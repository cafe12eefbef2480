"""SnAp-n against a dense recursion whose mask is found from Jacobians, a step at a time."""

from dataclasses import dataclass

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
    Normalised,
    adapted,
    distance,
    fits,
    held_to,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from torch.func import jacrev

from orla import catalogue
from orla.architectures.base import Architecture, Pattern
from orla.errors import OrlaError
from orla.learners.snap import SnAp

EXACT = 1e-10
STEPS = 16


@dataclass(frozen=True)
class Ring(Architecture):
    """Units in a ring, each of which hears itself and the one before it: W holds more, unused."""

    @property
    def state_size(self):
        return self.hidden

    @property
    def hears(self):
        itself = torch.eye(self.hidden)
        return itself + itself.roll(1, 0)

    def recurrent_shapes(self):
        return {"W": (self.hidden, self.hidden), "U": (self.hidden, self.n_in)}

    def step(self, params, state, x):
        return torch.tanh((params["W"] * self.hears) @ state + params["U"] @ x)

    def pattern(self):
        own, hears = torch.eye(self.hidden) > 0, self.hears > 0
        return Pattern(hears, {"W": own[:, :, None] & hears, "U": own[:, :, None]})


RING = Ring(HIDDEN, N_IN, N_OUT)
# Those that declare a pattern, as SnAp needs it.
SPARSE = {kind: given for kind, given in NETWORKS.items() if fits(given[0], "snap-1")}
SPARSE["ring"] = RING, RING.step


def visited(architecture, step):
    """Jacobians by state and by parameters at a state and weights that nothing singles out."""
    params, (X, _) = {n: p[0] for n, p in networks(architecture).items()}, stream(5)
    state = initial(architecture)
    for x in X[:-1]:
        state = step(params, state, x)
    D, J = jacrev(step, argnums=(0, 1))(params, state, X[-1])
    return J, {name: D[name] for name in architecture.recurrent_shapes()}


def masks(architecture, step, steps):
    """Where n steps can take a parameter, {parameter: (state, *shape)}, by paths one at a time."""
    J, D = visited(architecture, step)
    found = {}
    for name, d in D.items():
        reached = direct = (d.flatten(1) != 0).int()
        for _ in range(steps - 1):
            further = torch.zeros_like(reached)
            for to, come in (J != 0).nonzero().tolist():
                further[to] |= reached[come]
            reached = direct | further
        found[name] = reached.view(d.shape).double()
    return found


def share(kept):
    """Share of the entries of a dense sensitivity that are kept."""
    return sum(float(m.sum()) for m in kept.values()) / sum(m.numel() for m in kept.values())


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("kind", SPARSE)
def test_it_is_the_masked_recursion_while_weights_move(kind, steps):
    architecture, step = SPARSE[kind]
    kept, other = (masks(architecture, step, n) for n in (steps, 2 if steps == 1 else steps - 1))

    def masked(used, kept=kept):
        return oracles.dense_rtrl(step, initial(architecture), used, *stream(STEPS), kept=kept)

    watched = watch(SnAp(architecture, steps), networks(architecture), *stream(STEPS), rate=0.05)
    ours, used = held_to(masked, watched, FIXED.get(kind, ()))
    assert (distance(ours, masked(used, other)) > 1e-3) == (share(kept) != share(other))


# Steps within which every parameter that is used reaches the whole state.
FULL = dict.fromkeys(SPARSE, 2) | {"ring": HIDDEN}


@pytest.mark.parametrize("kind", SPARSE)
def test_with_everything_reached_it_is_exact_rtrl_and_a_step_before_it_is_not(kind):
    architecture, step = SPARSE[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    exact, used = adapted(make_learner("rtrl", architecture), STEPS, params, 1, rate=0.05)
    assert distance(exact, oracles.dense_rtrl(step, initial(architecture), used, X, Y)) < EXACT
    for steps, same in ((FULL[kind], True), (FULL[kind] + 3, True), (FULL[kind] - 1, False)):
        ours, _ = adapted(SnAp(architecture, steps), STEPS, params, 1, rate=0.05)
        assert (distance(ours, exact) < EXACT) == same


@pytest.mark.parametrize("kind", SPARSE)
def test_the_pattern_is_where_jacobians_are_not_zero(kind):
    architecture, step = SPARSE[kind]
    J, D = visited(architecture, step)
    pattern = architecture.pattern()
    assert torch.equal(pattern.by_state, J != 0)
    assert set(pattern.by_parameter) == set(D)
    for name, d in D.items():
        assert torch.equal(pattern.by_parameter[name].expand_as(d), d != 0)


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_a_units_own_words_lose_nothing(kind, monkeypatch):
    architecture, _ = NETWORKS[kind]
    params, learner = networks(architecture), SnAp(architecture)
    own, _ = adapted(learner, STEPS, params, rate=0.05)
    assert set(learner.init(params)["influence"]) == {"e"}
    for module in ("sensitivity", "snap"):
        monkeypatch.setattr(f"orla.learners.{module}.own_units", lambda architecture: False)
    assert set(learner.init(params)["influence"]) == set(architecture.recurrent_shapes())
    dense, _ = adapted(learner, STEPS, params, rate=0.05)
    assert distance(own, dense) < EXACT


def test_what_is_kept_is_what_memory_holds():
    """Own units: as many numbers as parameters, times the state's blocks. Else all of RTRL's."""
    for kind, steps, numbers, masked in (
        ("rnn", 1, 5 * (3 + 5 + 1), False),
        ("rnn", 2, 5 * 5 * (3 + 5 + 1), False),
        ("lstm", 1, 2 * 20 * (3 + 5 + 1), True),
        ("lstm", 2, 10 * 20 * (3 + 5 + 1), False),
        ("another", 1, 10 * 5 * (5 + 3 + 2), True),
        ("another", 2, 10 * 5 * (5 + 3 + 2), False),
    ):
        architecture, _ = NETWORKS[kind]
        learner, params = SnAp(architecture, steps), networks(architecture, models=7)
        held = sum(e.numel() for e in learner.init(params)["influence"].values())
        assert held == 7 * numbers
        assert ("kept" in learner.buffers(params)) == masked


class Silent(Adapting):
    def pattern(self):
        return None


class Blocks(type(NETWORKS["lstm"][0])):
    unit_pattern = None


class Meeting(Normalised):
    units_independent = False


@pytest.mark.parametrize("kind", [*SPARSE, *(kind for kind in NETWORKS if kind not in SPARSE)])
def test_every_network_that_declares_a_pattern_is_taken_and_no_other(kind):
    network = RING if kind == "ring" else NETWORKS[kind][0]
    assert (kind in SPARSE) == (network.pattern() is not None) == (kind in FULL)
    assert all(fits(network, f"snap-{steps}") == (kind in SPARSE) for steps in (1, 2))


@pytest.mark.parametrize("kind", [Silent, Blocks, Meeting])
def test_a_network_that_declares_no_pattern_is_refused(kind):
    given = {"architecture": kind(HIDDEN, N_IN, N_OUT)}
    with pytest.raises(OrlaError, match=f"snap-2: {kind.__name__} does not say.*`pattern`"):
        catalogue.make("learner", "snap-2", **given)
    assert catalogue.make("learner", "uoro", **given).noise
