"""The gradient's norm is the observer's, its direction its own."""

import pytest
import torch
from harness import (
    LEARNED,
    NETWORKS,
    REMEMBERING,
    in_full,
    make_learner,
    networks,
    stream,
    watch,
)

from orla import catalogue
from orla.errors import OrlaError
from orla.interventions.base import Gradients
from orla.interventions.match_norm import MatchNorm
from orla.learners.snap import SnAp

STEPS = 16


def flat(gradient):
    return torch.cat([g.flatten() for _, g in sorted(gradient.items())])


def exact(learner):
    """Whether the learner's gradient is exact RTRL's; SnAp's is once it keeps everything."""
    if isinstance(learner, SnAp):
        return all(mask.all() for mask in learner.mask().values()) and learner.dense
    return learner.part.more["exactness"] == "exact"


# Learners that are exact and that are not, of steps and of the readout alone.
SOME = [("rnn", n) for n in ("immediate", "trace", "snap-2", "last-layer", "tbptt-4-1")]
SOME += [("another", "rtrl"), ("turning", "diagonal"), ("lstm", "uoro")]


@pytest.mark.parametrize(
    ("kind", "name"), in_full([pair for pair in LEARNED if pair[0] in REMEMBERING], SOME)
)
def test_the_norm_is_the_observers_and_the_direction_stays(kind, name):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    learner = make_learner(name, architecture)
    full = make_learner("rtrl", architecture)
    watched = watch(
        learner,
        networks(architecture),
        X,
        Y,
        rate=0.01,
        observers={"full": full},
        interventions=[MatchNorm("full")],
    )
    for model in range(2):
        given, learned, theirs = (
            watched.model(model, of)[0] for of in ("gradient", "learned", "of full")
        )
        factors = []
        for g, own, other in zip(given, learned, theirs, strict=True):
            assert set(g) == set(own)
            torch.testing.assert_close(flat(g).norm(), flat(other).norm(), rtol=1e-12, atol=0)
            cosine = flat(g) @ flat(own) / flat(g).norm() / flat(own).norm()
            assert cosine == pytest.approx(1.0, abs=1e-12)
            factors.append(float(flat(g).norm() / flat(own).norm()))
        away = max(abs(f - 1) for f in factors)
        assert away < 1e-12 if exact(learner) else away > 1e-6


def test_by_hand_and_without_a_gradient():
    own = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([[4.0]])}
    other = {"a": torch.tensor([0.0, 6.0]), "c": torch.tensor([8.0])}
    given, state = MatchNorm("o").update(Gradients(own, {"o": other}), {}, {})
    assert given["a"].tolist() == [6.0, 0.0] and given["b"].tolist() == [[8.0]] and state == {}
    none = {name: torch.zeros_like(g) for name, g in own.items()}
    given, _ = MatchNorm("o").update(Gradients(none, {"o": other}), {}, {})
    assert not any(g.any() for g in given.values())
    given, _ = MatchNorm("o").update(Gradients(own, {"o": none}), {}, {})
    assert not any(g.any() for g in given.values())


def test_an_observer_must_be_named():
    assert catalogue.make("intervention", {"kind": "match-norm", "observer": "x"}) == MatchNorm("x")
    with pytest.raises(OrlaError, match='"observer" is missing; add it'):
        catalogue.make("intervention", "match-norm")
