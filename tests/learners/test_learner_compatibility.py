"""Learners by name, the networks that they take, and what they carry of one."""

import pytest
import torch
from harness import (
    HIDDEN,
    LEARNED,
    LEARNERS,
    N_IN,
    N_OUT,
    NETWORKS,
    PAIRS,
    Adapting,
    distance,
    fits,
    make_learner,
    networks,
    stream,
    watch,
)
from learners.others import OTHERS, Meeting
from torch.func import jacrev
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.errors import OrlaError
from orla.learners.last_layer import LastLayer
from orla.learners.random_signs import KFRTRL, UORO
from orla.learners.rtrl import RTRL
from orla.learners.sensitivity import SnAp
from orla.learners.tbptt import TBPTT, Immediate
from orla.learners.trace import Trace

RNN = NETWORKS["rnn"][0]


@pytest.mark.parametrize(
    "given, expected, stride",
    [
        ("immediate", Immediate(RNN), 1),
        ("immediate-200", Immediate(RNN, window=200), 200),
        ("tbptt-200-200", TBPTT(RNN, window=200, update_every=200), 200),
        ("tbptt-4-1", TBPTT(RNN, window=4, update_every=1), 1),
        ("rtrl", RTRL(RNN), 1),
        ("last-layer", LastLayer(RNN), 1),
        ({"kind": "trace", "decay": 0.5}, Trace(RNN, decay=0.5), 1),
        ("snap", SnAp(RNN, steps=1), 1),
        ("snap-2", SnAp(RNN, steps=2), 1),
        ("uoro", UORO(RNN), 1),
        ("kf-rtrl", KFRTRL(RNN), 1),
    ],
)
def test_a_name_is_a_learner(given, expected, stride):
    assert catalogue.make("learner", given, architecture=RNN) == expected
    assert expected.stride == stride


@pytest.mark.parametrize(
    "given, mend",
    [
        ("", "unknown"),
        ({"kind": "trace", "decay": -0.1}, '"decay" must be'),
        ({"kind": "uoro", "eps": 0.0}, '"eps" must be'),
        ({"kind": "uoro", "eps": -1.0}, '"eps" must be'),
        ({"kind": "rflo", "leak": 0.0}, '"leak"'),
        ({"kind": "rflo", "leak": 1.1}, '"leak"'),
        ({"kind": "rflo", "feedback": "symmetric"}, '"feedback"'),
        ({"kind": "rflo", "feedback_scale": 0.0}, '"feedback_scale"'),
        ("tbptt-3-4", "at least as long"),
        ("bptt", 'the nearest is "tbptt"'),
        ("immediate-0", "must be at least 1"),
        ("tbptt-200", "tbptt-WINDOW-UPDATE_EVERY"),
        ("tbptt-4-1-1", "tbptt-WINDOW-UPDATE_EVERY"),
        ("RTRL", "unknown"),
        ("snap-0", "must be at least 1"),
        ("snap-1-2", "write snap or snap-STEPS"),
        ("uoro-2", "write uoro"),
        ({"kind": "trace", "decay": 1.1}, '"decay" must be'),
        ({"kind": "trace", "decays": 0.5}, 'the nearest is "decay"'),
    ],
)
def test_invalid_short_forms_are_refused_with_the_mend(given, mend):
    with pytest.raises(OrlaError, match=mend):
        catalogue.make("learner", given, architecture=RNN)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("rflo", "lstm", "one pre-activation each.*network lstm have 2 and 4"),
        ("rflo", "another", "Adapting"),
        ("eprop", "another", r"eprop: the network \w+ does not declare that its units"),
        ("eprop", "turning", r"eprop: the network \w+ does not declare that its units"),
        ("kf-rtrl", "another", "kf-rtrl: the parameters of Adapting.*take uoro"),
        *(
            ("diagonal", kind, "diagonal: the recurrence of .* is not element-wise")
            for kind in ("rnn", "lstm", "another")
        ),
    ],
)
def test_a_network_that_does_not_fit_is_refused(name, kind, words):
    with pytest.raises(OrlaError, match=words):
        catalogue.make("learner", name, architecture=NETWORKS[kind][0])
    assert catalogue.make("learner", "uoro", architecture=NETWORKS["another"][0]).noise_size == 10


@pytest.mark.parametrize("window", [(0, 1), (4, 0)])
def test_a_window_without_steps_is_refused(window):
    with pytest.raises(OrlaError, match="at least as long"):
        TBPTT(RNN, *window)


def test_the_tests_go_through_every_learner_and_network():
    for cases in (PAIRS, LEARNED):
        kinds = {type(make_learner(name, NETWORKS[kind][0])) for kind, name in cases}
        assert kinds == set(catalogue.parts("learner").values())
        assert {kind for kind, _ in cases} == set(NETWORKS)
        assert {name for _, name in cases} == set(LEARNERS)
    assert set(PAIRS) < set(LEARNED)


@pytest.mark.parametrize("name", catalogue.parts("learner"))
def test_every_learner_says_what_it_costs_and_where_it_comes_from(name):
    more = catalogue.part("learner", name).part.more
    assert more["exactness"] in ("exact", "unbiased", "biased")
    assert more["time"].count("O(") >= 1 and more["memory"].count("O(") >= 1
    assert more["source"]


def test_no_two_learners_have_one_mark():
    marks = [part.part.mark for part in catalogue.parts("learner").values() if part.part.mark]
    assert len({mark.color for mark in marks}) == len(marks)


ROW = 3 + 5 + 1  # of a unit's inputs, units and bias


@pytest.mark.parametrize(
    ("name", "kind", "numbers", "masked"),
    [
        # Own units: as many numbers as parameters, times the state's blocks.
        ("snap-1", "rnn", 5 * ROW, False),
        ("snap-1", "lstm", 2 * 20 * ROW, True),
        # Else all of exact RTRL's.
        ("snap-2", "rnn", 5 * 5 * ROW, False),
        ("snap-2", "lstm", 10 * 20 * ROW, False),
        ("snap-1", "another", 10 * 5 * (5 + 3 + 2), True),
        ("snap-2", "another", 10 * 5 * (5 + 3 + 2), False),
        # Element-wise: a real and an imaginary part of each parameter, times a unit's modes.
        ("d_rtrl", "turning", 2 * 5 * (1 + 1 + 3 + 3), False),
        ("diagonal", "turning", 2 * 5 * (1 + 1 + 3 + 3), False),
        ("diagonal", "s4", 2 * 2 * 5 * (3 + 1 + 1 + 2 + 2), False),
    ],
)
def test_number_of_elements_in_learner_state(name, kind, numbers, masked):
    architecture, _ = NETWORKS[kind]
    learner, params = make_learner(name, architecture), networks(architecture, models=7)
    assert sum(e.numel() for e in pytree.tree_leaves(learner.init(params))) == 7 * numbers
    assert ("kept" in learner.buffers(params)) == masked


@pytest.mark.parametrize("learner", [SnAp, Trace])
@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_unit_sensitivity_ops_lose_nothing(kind, learner, monkeypatch):
    """A gate moves its own unit alone: the dense sensitivity has the same numbers."""
    architecture, _ = NETWORKS[kind]
    params, made = networks(architecture), learner(architecture)

    def gradients():
        return watch(made, params, *stream(16), rate=0.05).model(0)[0]

    own = gradients()
    assert set(made.init(params)["sensitivity"]) == {"e"}
    monkeypatch.setattr(
        "orla.learners.sensitivity.can_use_unit_sensitivity", lambda architecture: False
    )
    assert set(made.init(params)["sensitivity"]) == set(architecture.recurrent_shapes())
    assert distance(own, gradients()) < 1e-10


# Those that declare a pattern, as SnAp needs it.
SPARSE = {kind: given for kind, given in NETWORKS.items() if fits(given[0], "snap-1")}
SPARSE["ring"] = OTHERS["ring"]


def visited(architecture, step):
    """Jacobians by state and by parameters at a state and weights that nothing singles out."""
    params, (X, _) = {n: p[0] for n, p in networks(architecture).items()}, stream(5)
    state = torch.zeros(architecture.state_size, dtype=torch.float64)
    for x in X[:-1]:
        state = step(params, state, x)
    D, J = jacrev(step, argnums=(0, 1))(params, state, X[-1])
    return J, {name: D[name] for name in architecture.recurrent_shapes()}


@pytest.mark.parametrize("kind", SPARSE)
def test_the_pattern_is_where_jacobians_are_not_zero(kind):
    architecture, step = SPARSE[kind]
    J, D = visited(architecture, step)
    pattern = architecture.pattern()
    assert torch.equal(pattern.by_state, J != 0)
    assert set(pattern.by_parameter) == set(D)
    for name, d in D.items():
        assert torch.equal(pattern.by_parameter[name].expand_as(d), d != 0)


class Silent(Adapting):
    def pattern(self):
        return None


class Blocks(type(NETWORKS["lstm"][0])):
    unit_pattern = None


def test_every_network_that_declares_a_pattern_is_taken_and_no_other():
    for kind, (network, _) in (NETWORKS | SPARSE).items():
        assert (kind in SPARSE) == (network.pattern() is not None)
        assert all(fits(network, f"snap-{steps}") == (kind in SPARSE) for steps in (1, 2))


@pytest.mark.parametrize("kind", [Silent, Blocks, Meeting])
def test_a_network_that_declares_no_pattern_is_refused(kind):
    given = {"architecture": kind(HIDDEN, N_IN, N_OUT)}
    with pytest.raises(OrlaError, match=f"snap-2: {kind.__name__} does not say.*`pattern`"):
        catalogue.make("learner", "snap-2", **given)
    assert catalogue.make("learner", "uoro", **given).noise_size
