import pytest
from harness import LEARNED, LEARNERS, NETWORKS, PAIRS, make_learner

from orla import catalogue
from orla.errors import OrlaError
from orla.learners.immediate import Immediate
from orla.learners.kf_rtrl import KFRTRL
from orla.learners.last_layer import LastLayer
from orla.learners.rtrl import RTRL
from orla.learners.snap import SnAp
from orla.learners.tbptt import TBPTT
from orla.learners.trace import Trace
from orla.learners.uoro import UORO

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
def test_any_other_name_is_refused_with_the_mend(given, mend):
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
    assert catalogue.make("learner", "uoro", architecture=NETWORKS["another"][0]).noise == 10


def test_a_window_without_steps_is_refused():
    for window in ((0, 1), (4, 0)):
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
