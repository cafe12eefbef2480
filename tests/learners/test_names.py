import pytest
from harness import NETWORKS

from orla.errors import OrlaError
from orla.learners import RTRL, TBPTT, Immediate, LastLayer, learner

RNN = NETWORKS["rnn"][0]


@pytest.mark.parametrize(
    "name, expected, stride",
    [
        ("immediate", Immediate(RNN), 1),
        ("immediate-200", Immediate(RNN, window=200), 200),
        ("tbptt-200-200", TBPTT(RNN, window=200, update_every=200), 200),
        ("tbptt-4-1", TBPTT(RNN, window=4, update_every=1), 1),
        ("rtrl", RTRL(RNN), 1),
        ("last-layer", LastLayer(RNN), 1),
    ],
)
def test_a_name_is_a_learner(name, expected, stride):
    assert learner(name, RNN) == expected
    assert expected.stride == stride


@pytest.mark.parametrize("name", ["", "bptt", "immediate-0", "tbptt-200", "tbptt-4-1-1", "RTRL"])
def test_any_other_name_is_refused_with_the_list(name):
    with pytest.raises(OrlaError, match="unknown; write one of immediate"):
        learner(name, RNN)
