"""The full gradient where the past agrees with the present, the immediate one elsewhere."""

import numpy as np
import pytest
import torch
from harness import (
    NETWORKS,
    SQUARED_ERROR,
    Recorder,
    adapt,
    make_learner,
    networks,
    stream,
)

from orla.engine.loop import Loop
from orla.interventions.base import Gradients
from orla.interventions.past import Route
from orla.optimizers.sgd import SGD
from orla.probes.cosine import Routed


def routed(past, imm=(3.0, 4.0), **options):
    """What becomes of the full gradient, in two parameters."""
    past, imm = torch.tensor(past), torch.tensor(imm)
    full = {"a": (imm + past)[:1], "b": (imm + past)[1:]}
    given = Gradients(full, {"imm": {"a": imm[:1], "b": imm[1:]}})
    answer, state = Route(immediate="imm", **options).update(given, {}, {})
    assert state == {}
    return torch.cat([answer["a"], answer["b"]]).tolist()


@pytest.mark.parametrize(
    ("past", "above", "taken"),
    [
        ((1.0, 0.0), 0.0, True),  # a cosine of 0.6
        ((1.0, 0.0), 0.55, True),
        ((1.0, 0.0), 0.65, False),
        ((-4.0, 3.0), 0.0, True),  # a cosine of 0
        ((-1.0, 0.0), 0.0, False),  # one of -0.6
        ((-1.0, 0.0), -0.65, True),
        ((-1.0, 0.0), -0.55, False),
        ((0.0, 2.0), 0.75, True),  # one of 0.8
        ((0.0, 2.0), 0.85, False),
        ((0.0, 0.0), 0.9, True),  # both are one
        ((float("nan"), 1.0), 0.0, False),
    ],
)
def test_the_full_gradient_is_taken_where_the_past_cosine_exceeds_above(past, above, taken):
    given = [3.0 + past[0], 4.0 + past[1]]
    assert routed(past, above=above) == (given if taken else [3.0, 4.0])
    # Without a present the full gradient is taken.
    assert not all(np.isfinite(past)) or routed(past, imm=(0.0, 0.0), above=0.9) == list(past)


def test_a_parameter_of_one_gradient_alone_keeps_the_learners():
    own = {"a": torch.tensor([1.0]), "b": torch.tensor([-5.0])}
    given = Gradients(own, {"imm": {"a": torch.tensor([2.0])}})  # a past of -1 against 2
    answer, _ = Route(immediate="imm").update(given, {}, {})
    assert {n: g.tolist() for n, g in answer.items()} == {"a": [2.0], "b": [-5.0]}
    # As where the readout alone learns: what only the observer has is not brought in.
    given = Gradients({"a": torch.tensor([1.0])}, {"imm": {"b": own["b"], "a": torch.ones(1)}})
    answer, _ = Route(immediate="imm").update(given, {}, {})
    assert {n: g.tolist() for n, g in answer.items()} == {"a": [1.0]}
    # An observer's full gradient takes the place of the learner's.
    given = Gradients(own, {"imm": {"b": torch.ones(1)}, "full": {"b": torch.tensor([4.0])}})
    answer, _ = Route(immediate="imm", full="full").update(given, {}, {})
    assert {n: g.tolist() for n, g in answer.items()} == {"a": [1.0], "b": [4.0]}


@pytest.mark.parametrize("quantile", [0.25, 0.5, 1.0])
def test_a_quantile_is_that_of_the_cosines_so_far(quantile):
    """Against numpy's, past the hundredth update, at which the oldest is forgotten."""
    route = Route(immediate="imm", above=-1.0, quantile=quantile)
    state, angles = route.init({"a": torch.zeros(1).double()}), []
    drawn, taken = np.random.default_rng(0), []
    for _ in range(130):
        angles.append(drawn.uniform(0, np.pi))
        imm = torch.tensor([2.0, 0.0]).double()
        past = 3 * torch.tensor([np.cos(angles[-1]), np.sin(angles[-1])])
        answer, state = route.update(Gradients({"a": imm + past}, {"imm": {"a": imm}}), state, {})
        cosines = np.cos(angles[-100:])
        taken.append(bool((answer["a"] != imm).any()))
        # Midway to the next cosine, so that rounding decides nothing.
        assert taken[-1] == (cosines[-1] >= np.quantile(cosines, quantile) - 1e-9)
    assert np.mean(taken) == pytest.approx(1 - quantile, abs=0.12)
    # The negative controls: without a quantile all of these are routed, and `above` counts still.
    plain = Route(immediate="imm", above=-1.0)
    assert plain.init({"a": torch.zeros(1)}) == {}
    high = Route(immediate="imm", above=0.999, quantile=quantile)
    start = high.init({"a": torch.zeros(1).double()})
    given = Gradients({"a": torch.tensor([2.0, 3.0])}, {"imm": {"a": torch.tensor([2.0, 0.0])}})
    assert high.update(given, start, {})[0]["a"].tolist() == [2.0, 0.0]


def test_a_quantile_and_what_was_routed_in_a_run():
    network = NETWORKS["rnn"][0]
    X, Y = stream(96)
    shares = {}
    for quantile in (0.0, 0.5):
        probes = [Routed(immediate="imm"), Recorder()]
        loop = Loop(
            make_learner("tbptt-8-4", network),
            SGD(),
            SQUARED_ERROR,
            observers={"imm": make_learner("immediate-4", network)},
            interventions=[Route(immediate="imm", above=-1.0, quantile=quantile)],
            probes=probes,
            segment=4,
        )
        rates = torch.full((2,), 0.05, dtype=torch.float64)
        series = adapt(loop, networks(network), rates, X, Y).series
        names = network.shapes()
        by_hand = np.zeros((2, 24), bool)
        for name in names:
            differs = series[f"gradient {name}"] != series[f"of imm {name}"]
            by_hand |= differs.reshape(2, 24, -1).any(2)
        np.testing.assert_array_equal(series["routed_share"], by_hand)
        shares[quantile] = probes[0].summary(series)["routed_share"]
        np.testing.assert_allclose(shares[quantile], by_hand.mean(1))
    assert (shares[0.0] == 1).all() and (shares[0.5] > 0.2).all() and (shares[0.5] < 0.8).all()
