import pytest
from harness import LEARNED, NETWORKS, make_learner

from orla import catalogue
from orla.errors import OrlaError
from orla.learners.immediate import Immediate
from orla.learners.last_layer import LastLayer
from orla.learners.rtrl import RTRL
from orla.learners.tbptt import TBPTT
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
    ],
)
def test_a_name_is_a_learner(given, expected, stride):
    assert catalogue.make("learner", given, architecture=RNN) == expected
    assert expected.stride == stride


@pytest.mark.parametrize(
    "given, mend",
    [
        ("", "unknown"),
        ("bptt", 'the nearest is "tbptt"'),
        ("immediate-0", "must be at least 1"),
        ("tbptt-200", "tbptt-WINDOW-UPDATE_EVERY"),
        ("tbptt-4-1-1", "tbptt-WINDOW-UPDATE_EVERY"),
        ("RTRL", "unknown"),
        ({"kind": "trace", "decay": 1.5}, "decay"),
        ({"kind": "trace", "decays": 0.5}, 'the nearest is "decay"'),
    ],
)
def test_any_other_name_is_refused_with_the_mend(given, mend):
    with pytest.raises(OrlaError, match=mend):
        catalogue.make("learner", given, architecture=RNN)


def test_the_tests_go_through_every_learner():
    kinds = {type(make_learner(name, NETWORKS[kind][0])) for kind, name in LEARNED}
    assert kinds == set(catalogue.parts("learner").values())
