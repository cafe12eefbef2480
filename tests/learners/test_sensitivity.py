"""What learners that carry a sensitivity keep: how many numbers, and in whose words."""

import pytest
import torch
from harness import NETWORKS, distance, make_learner, networks, stream, watch
from learners.others import OTHERS
from torch.utils import _pytree as pytree

from orla.learners.snap import SnAp
from orla.learners.trace import Trace

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
        ("diagonal", "modes", 2 * 3 * 5 * (1 + 3 + 3 + 3), False),
    ],
)
def test_a_sensitivity_has_so_many_numbers(name, kind, numbers, masked):
    architecture, _ = (NETWORKS | OTHERS)[kind]
    learner, params = make_learner(name, architecture), networks(architecture, models=7)
    assert sum(e.numel() for e in pytree.tree_leaves(learner.init(params))) == 7 * numbers
    assert ("kept" in learner.buffers(params)) == masked


@pytest.mark.parametrize("learner", [SnAp, Trace])
@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_a_units_own_words_lose_nothing(kind, learner, monkeypatch):
    """A gate moves its own unit alone: the dense sensitivity has the same numbers."""
    architecture, _ = NETWORKS[kind]
    params, made = networks(architecture), learner(architecture)

    def gradients():
        return watch(made, params, *stream(16), rate=0.05).model(0)[0]

    own = gradients()
    assert set(made.init(params)["influence"]) == {"e"}
    for module in ("sensitivity", "snap"):
        monkeypatch.setattr(f"orla.learners.{module}.own_units", lambda architecture: False)
    assert set(made.init(params)["influence"]) == set(architecture.recurrent_shapes())
    assert distance(own, gradients()) < 1e-10


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("diagonal", "modes"),
        ("trace", "lstm"),
        ("snap-2", "rnn"),
        ("uoro", "rnn"),
        ("kf-rtrl", "lstm"),
        ("rtrl", "another"),
    ],
)
def test_what_came_before_the_start_of_a_trial_changes_nothing_after_it(name, kind):
    architecture, _ = (NETWORKS | OTHERS)[kind]
    learner, params, (X, Y) = make_learner(name, architecture), networks(architecture), stream(16)
    starts, other = torch.arange(16) == 7, torch.cat([3.0 * X[:7].flip(0), X[7:]])
    for masks, alike in (({"starts": starts}, True), ({}, False)):
        ours, theirs = (watch(learner, params, x, Y, **masks).model(1)[0][7:] for x in (X, other))
        assert (distance(ours, theirs) < 1e-12) == alike
        assert (distance(ours, theirs) > 1e-3) != alike
