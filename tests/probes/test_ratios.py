"""Cosines and ratios of norms, by NumPy from all that updates are made of; edges by hand."""

import numpy as np
import pytest
import torch
from harness import (
    NETWORKS,
    PLAIN,
    SQUARED_ERROR,
    Smoothing,
    make_learner,
    make_optimizer,
    networks,
    stream,
    watch,
)

from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.probes.base import Update
from orla.probes.cosine import Cosine, PastGradient
from orla.probes.ratios import Amplification, GradientRatio, UpdateRatio

STEPS, NAN, INF = 16, np.nan, np.inf
PROBES = [
    Cosine(),
    Cosine(against="full"),
    PastGradient(full="full"),
    GradientRatio(),
    Amplification(),
    UpdateRatio(),
]


def run(driver, kind, probes, optimizer="sgd", rate=0.05, observers=("rtrl", "trace"), **given):
    architecture, _ = NETWORKS[kind]
    names = dict(zip(("full", "b"), observers, strict=False))
    watching = {name: make_learner(of, architecture) for name, of in names.items()}
    given |= {"observers": watching, "probes": probes, "optimizer": make_optimizer(optimizer)}
    learner = make_learner(driver, architecture)
    params = networks(architecture)
    return watch(learner, params, *stream(STEPS), rate=rate, **given).result.series


def rows(series, of, names):
    """(models, updates, numbers) of these parameters; of "moved" the steps of all but the last."""
    if of == "moved":
        return np.diff(rows(series, "params", names), axis=1)
    parts = [series[f"{of} {n}"] for n in names if f"{of} {n}" in series]
    return np.concatenate([p.reshape(*p.shape[:2], -1) for p in parts], -1)


def norm(rows):
    return np.sqrt((rows**2).sum(-1))


def expected(series, network):
    """{series of a probe: by hand}."""
    inner, every = network.recurrent_shapes(), network.shapes()
    outer = [n for n in every if n not in inner]
    own, full, other = (rows(series, of, inner) for of in ("learned", "of full", "of b"))
    whole, now = rows(series, "of full", every), rows(series, "learned", every)
    past = whole - now
    balance = {of: norm(rows(series, of, inner)) / norm(rows(series, of, outer)) for of in KINDS}
    found = {
        "past_cosine": (past * now).sum(-1) / norm(past) / norm(now),
        "past_ratio": norm(past) / norm(now),
        "gradient_ratio": 1 / balance["learned"],
        "raw_balance": balance["gradient"],
        "update_balance": balance["moved"],
    }
    if "W_hh" in inner:
        moved = [norm(rows(series, "moved", [n])) for n in ("W_hh", "W_out")]
        found["update_ratio"] = moved[0] / moved[1]
    for against, reference in (("own", own), ("full", full)):
        for name, gradient in (("own", own), ("full", full), ("b", other)):
            sizes = norm(gradient), norm(reference)
            cosine = (gradient * reference).sum(-1) / sizes[0] / sizes[1]
            found[f"cosine with {against} of {name}"] = cosine
            found[f"norm against {against} of {name}"] = sizes[0] / sizes[1]
    return found


KINDS = ("learned", "gradient", "moved")


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize(
    ("driver", "optimizer", "observers"),
    [
        ("immediate", "adam", ("rtrl", "trace")),
        ("trace", "rmsprop", ("rtrl", "immediate")),
        ("immediate-8", "lars", ("tbptt-8-8", "trace")),
    ],
)
def test_every_update_is_measured_as_by_hand(kind, driver, optimizer, observers):
    given = optimizer, 0.01, observers  # and what only the balance before the optimizer sees:
    series = run(driver, kind, PROBES, *given, interventions=[Smoothing()])
    first = 1 if driver != "immediate-8" else 0  # there is no past at the first step
    for name, values in expected(series, NETWORKS[kind][0]).items():
        found = series[name][:, first : values.shape[1]]
        np.testing.assert_allclose(found, values[:, first:], rtol=1e-6, atol=1e-9, err_msg=name)
        assert np.ptp(values[:, first:]) > 1e-3 or "of own" in name or "of full" in name
    past_of = {"own": PastGradient(full="own", immediate="full"), "full": PastGradient("full")}
    assert {n: p.observers() for n, p in past_of.items()} == {"own": ("full",), "full": ("full",)}


def test_every_observer_is_measured_whatever_its_name():
    series = run("immediate", "rnn", [Cosine(against="full")], observers=("rtrl", "tbptt-4-1"))
    found = Cosine(against="full").by_observer(series)
    assert set(found) == {"own", "full", "b"}
    assert found["full"]["cosine"] == pytest.approx(1.0, abs=1e-12)
    assert (found["b"]["cosine"] > found["own"]["cosine"]).all()
    assert Cosine(against="b").by_observer(series) == {}


def test_what_has_no_gradient_or_no_past_has_no_number():
    scored = torch.arange(STEPS) % 3 > 0
    series = run("last-layer", "rnn", PROBES, scored=scored)
    ratio = series["norm against full of own"]
    assert (np.isnan(ratio) == ~scored.numpy()).all() and (ratio[:, scored] == 0).all()
    nothing = ("cosine with full of own", "gradient_ratio", "raw_balance", "update_ratio")
    assert all(np.isnan(series[name]).all() for name in nothing)
    summaries = [p.summary(series) for p in (Amplification(), GradientRatio())]
    assert all(np.isnan(v).all() for found in summaries for v in found.values())
    series = run("last-layer", "rnn", [PastGradient("full")], observers=("immediate",))
    assert (series["past_ratio"] == 0).all() and np.isnan(series["past_cosine"]).all()
    with pytest.raises(OrlaError, match="probe cosine reads the observer 'rtrl', which is not"):
        learner = make_learner("immediate", NETWORKS["rnn"][0])
        Loop(learner, make_optimizer("sgd"), SQUARED_ERROR, probes=[Cosine(against="rtrl")])


def measured(probe, own=(), full=(), updates=None, **more):
    """A probe of one update by hand: gradients of W (a vector), W_out not being recurrent."""
    own, full = ({"W": torch.tensor(g), "W_out": torch.tensor([0.0])} for g in (own, full))
    weights = {"W": torch.zeros(2), **more}
    zero = torch.zeros(())
    update = Update(weights, own, {"f": full}, own, updates, zero, {}, zero, weights)
    return [float(value) for value in probe.measure({}, update)[1].values()]


def test_cosine_norm_ratio_and_past_gradient_of_small_vectors():
    for full, cosine, ratio in (([6.0, 8.0], 1, 2), ([-4.0, 3.0], 0, 1), ([-9.0, -12.0], -1, 3)):
        # A parameter that neither learner changes is no part of it.
        for more in ({}, {"b": torch.zeros(5)}):
            of_own, of_f = (measured(Cosine(), [3.0, 4.0], full, **more)[i : i + 2] for i in (0, 2))
            assert of_own == [1.0, 1.0] and of_f == [cosine, ratio]
    past = PastGradient(full="f")
    assert measured(past, [3.0, 4.0], [11.0, -2.0]) == [0.0, 2.0]
    assert measured(past, [3.0, 4.0], [1.5, 2.0]) == pytest.approx([-1.0, 0.5])
    assert measured(past, [3.0, 4.0], [3.0, 4.0]) == pytest.approx([NAN, 0.0], nan_ok=True)
    swapped = PastGradient(full="own", immediate="f")
    assert measured(swapped, [9.0, 0.0], [3.0, 0.0])[1] == 2.0


HH, OUT = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([[0.0, 2.0]])


@pytest.mark.parametrize(
    ("updates", "ratio"),
    [
        ({"W_hh": HH, "W_out": OUT}, 2.5),
        ({"W_hh": HH.T, "W_out": OUT}, 2.5),
        ({"W_hh": torch.tensor([3.0, 4.0]), "W_out": OUT}, 2.5),  # one weight a unit
        ({"W_hh": HH, "W_out": 0 * OUT}, INF),
        ({"W_hh": 0 * HH, "W_out": OUT}, 0.0),
        ({"W_out": OUT}, NAN),
        # Of a stack over all its layers.
        ({"W_hh.0": HH[:1], "W_hh.1.0": HH[1:], "W_hhh.0": 9 * HH, "W_out": OUT}, 2.5),
    ],
)
def test_the_ratio_of_updates_is_over_all_of_the_recurrent_weights(updates, ratio):
    found = measured(UpdateRatio(), updates=updates)
    assert found == [pytest.approx(ratio, nan_ok=True)]


SUMMARIES = [
    (GradientRatio(), {"gradient_ratio": [[NAN, 1, 9, 2], [INF, 4, NAN, INF]]}, [[2, INF]]),
    (UpdateRatio(), {"update_ratio": [[1, 3], [2, NAN]]}, [[2, NAN]]),
    (
        PastGradient(full="f"),
        {"past_cosine": [[NAN, 0.5, -0.1], [NAN] * 3], "past_ratio": [[0, 1, INF], [NAN, 1, 3]]},
        [[0.2, NAN], [0.5, 2]],
    ),
    (
        Amplification(),
        {"raw_balance": [[1, 2, 4], [0, NAN, INF]], "update_balance": [[3, 10, 8], [1, 1, 1]]},
        [[2, NAN], [8, 1], [3, NAN]],
    ),
    (
        Cosine(against="a"),
        {
            "cosine with a of b": [[NAN, 0.5, -0.1, 0.2], [NAN] * 4],
            "norm against a of b": [[INF, 1.0, 9.0, 2.5], [NAN, 0.0, 2.0, NAN]],
        },
        [[0.2, NAN], [2 / 3, NAN], [2.5, 1.0]],
    ),
]


@pytest.mark.parametrize(("probe", "series", "columns"), SUMMARIES)
def test_summaries_leave_out_what_has_no_number(probe, series, columns):
    series = {name: np.array(values, float) for name, values in series.items()}
    observed = probe.part.more["observed"]
    found = probe.by_observer(series)["b"] if observed else probe.summary(series)
    assert list(found) == list(observed or probe.part.more["columns"])
    np.testing.assert_allclose(list(found.values()), columns)
