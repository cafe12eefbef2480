"""Norms that are matched, weights that are held, and what no intervention takes."""

import pytest
import torch
from harness import (
    NETWORKS,
    make_learner,
    networks,
    one,
    stream,
    watch,
)

from orla import catalogue
from orla.errors import OrlaError
from orla.interventions.base import Gradients
from orla.interventions.hold import Hold
from orla.interventions.match_norm import MatchNorm
from orla.learners.sensitivity import SnAp
from orla.starts.base import WithoutRecurrence

STEPS = 16


def flat(gradient):
    return torch.cat([g.flatten() for _, g in sorted(gradient.items())])


def exact(learner):
    """Whether the learner's gradient is exact RTRL's; SnAp's is once it keeps everything."""
    if isinstance(learner, SnAp):
        return all(mask.all() for mask in learner.mask().values()) and learner.dense
    return learner.part.more["exactness"] == "exact"


# Learners that are exact and that are not, of steps and of the readout alone.
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("rnn", name) for name in ("immediate", "snap-2", "last-layer", "tbptt-4-1")),
        ("another", "rtrl"),
        ("turning", "diagonal"),
        ("lstm", "uoro"),
    ],
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


def test_match_norm_is_as_by_hand_and_leaves_zero_gradients_at_zero():
    own = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([[4.0]])}
    other = {"a": torch.tensor([0.0, 6.0]), "c": torch.tensor([8.0])}
    given, state = MatchNorm("o").update(Gradients(own, {"o": other}), {}, {})
    assert given["a"].tolist() == [6.0, 0.0] and given["b"].tolist() == [[8.0]] and state == {}
    none = {name: torch.zeros_like(g) for name, g in own.items()}
    given, _ = MatchNorm("o").update(Gradients(none, {"o": other}), {}, {})
    assert not any(g.any() for g in given.values())
    given, _ = MatchNorm("o").update(Gradients(own, {"o": none}), {}, {})
    assert not any(g.any() for g in given.values())


def parted(**options):
    return {"kind": "project-past", **options}, {"kind": "route", **options}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("match-norm", '"observer" is missing; add it'),
        *((spec, '"immediate" is missing; add it') for spec in parted()),
        *((s, '"immediate" and "full" are both "own"') for s in parted(immediate="own")),
        (parted(immediate="imm", windows=0)[0], '"windows" must be at least 1'),
        (parted(immediate="imm", quantile=1.5)[1], '"quantile" must be at most 1'),
        (parted(immediate="imm", above=1.5)[1], '"above" must be at most 1'),
    ],
)
def test_options_that_cannot_be_are_refused(spec, words):
    with pytest.raises(OrlaError, match=words):
        catalogue.make("intervention", spec)
    for made in parted(immediate="imm"):
        assert catalogue.make("intervention", made).observers() == ("imm",)


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "signsgd-momentum"])
def test_a_network_without_recurrence_stays_so_where_it_is_held(optimizer):
    architecture, _ = NETWORKS["rnn"]
    plain, learner = one(architecture), make_learner("immediate", architecture)
    started = WithoutRecurrence().apply(architecture, plain, torch.Generator())
    assert not started["W_hh"].any()
    assert all(torch.equal(p, plain[name]) for name, p in started.items() if name != "W_hh")
    params = {name: torch.stack([p, p]) for name, p in started.items()}
    given = {"rate": 0.01, "optimizer": catalogue.make("optimizer", optimizer)}
    held, free = (
        watch(learner, params, *stream(12), interventions=chain, **given).result.state.params
        for chain in ([Hold()], [])
    )
    assert not held["W_hh"].any() and free["W_hh"].any()
    assert not any(torch.equal(held[n], p) for n, p in params.items() if n != "W_hh")
    with pytest.raises(OrlaError, match="no W_hh is learned"):
        last = make_learner("last-layer", architecture)
        watch(last, params, *stream(2), interventions=[Hold()])
