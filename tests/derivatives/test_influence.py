"""The four words, against automatic Jacobians and against exact RTRL written in them."""

from dataclasses import dataclass
from typing import ClassVar

import oracles
import pytest
import torch
from harness import (
    FIXED,
    NETWORKS,
    PLAIN,
    Normalised,
    all_learn,
    distance,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from torch.func import jacrev

from orla.derivatives.influence import DenseWords, OwnUnitWords, own_units
from orla.learners.sensitivity import SensitivityLearner

STEPS = 24
EXACT = 1e-10
OWN = [kind for kind, (network, _) in NETWORKS.items() if own_units(network)]


@dataclass(frozen=True)
class InWords(SensitivityLearner):
    """Exact RTRL's recursion, P <- factor J P + D."""

    dense: ClassVar[bool] = True
    factor: float = 1.0

    @property
    def stride(self):
        return 1

    def advance(self, words, influence):
        moved = words.transport(self.factor * words.jacobian(), influence)
        direct = words.direct()
        return {name: e + direct[name] for name, e in moved.items()}


@dataclass(frozen=True)
class ByOwnUnits(InWords):
    dense: ClassVar[bool] = False


@pytest.mark.parametrize("kind", PLAIN)
def test_rtrl_in_dense_words_is_rtrl(kind):
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    written = watch(InWords(architecture), params, X, Y, rate=0.05)
    blocks = watch(make_learner("rtrl", architecture), params, X, Y, rate=0.05)
    for model in range(2):
        ours, used = written.model(model)
        truth = oracles.dense_rtrl(step, initial(architecture), used, X, Y)
        assert distance(ours, truth) < EXACT
        assert distance(ours, blocks.model(model)[0]) < EXACT
        assert all_learn(truth, FIXED.get(kind, ()))
    wrong, _ = watch(InWords(architecture, factor=1 + 1e-6), params, X, Y, rate=0.05).model(1)
    assert distance(wrong, truth) > 100 * EXACT


def one_step(kind):
    """The words of one step of one network, dense and a unit's own, from a state that it visits."""
    architecture, _ = NETWORKS[kind]
    params = {n: p[0] for n, p in networks(architecture).items()}
    state = architecture.initial_state(params)
    for x in stream(6)[0]:
        before, state = state, architecture.step(params, state, x)
    _, cache = architecture.step_with_cache(params, before, x)
    tape = {"cache": cache, "h": before[: architecture.hidden], "x": x}
    given = architecture, params, before, x, tape
    return DenseWords(*given), OwnUnitWords(*given)


@pytest.mark.parametrize("kind", NETWORKS)
def test_dense_words_are_autograds(kind):
    architecture, step = NETWORKS[kind]
    params, x = {n: p[0] for n, p in networks(architecture).items()}, stream(1)[0][0]
    state = torch.linspace(-0.5, 0.5, architecture.state_size, dtype=torch.float64)
    words = DenseWords(architecture, params, state, x, {})
    D, J = jacrev(step, argnums=(0, 1))(params, state, x)
    torch.testing.assert_close(words.jacobian(), J)
    for name, direct in words.direct().items():
        torch.testing.assert_close(direct, D[name])
        assert words.zeros()[name].shape == direct.shape and not words.zeros()[name].any()
    assert set(words.direct()) == set(architecture.recurrent_shapes())


@pytest.mark.parametrize("kind", OWN)
def test_own_words_are_the_diagonals_of_autograds(kind):
    dense, own = one_step(kind)
    a = dense.architecture
    n, blocks = a.hidden, a.state_size // a.hidden
    J = dense.jacobian()
    diagonal = own.jacobian()
    assert diagonal.shape == (blocks, blocks, n)
    direct = own.direct()["e"]
    assert direct.shape == own.zeros()["e"].shape == (blocks, a.gates, a.n_in + n + 1)
    D = dense.direct()
    joined = torch.cat([D["W_ih"], D["W_hh"], D["b_h"][:, :, None]], -1)
    for unit in range(n):
        torch.testing.assert_close(diagonal[:, :, unit], J[unit::n, unit::n])
        # A gate's number moves its own unit alone.
        torch.testing.assert_close(direct[:, unit::n], joined[unit::n, unit::n])
        others = [u for u in range(n) if u != unit]
        assert not joined[unit::n][:, [g for u in others for g in range(u, a.gates, n)]].any()
        assert J[unit::n][:, others].any()  # what is left out is there


@pytest.mark.parametrize("kind", OWN)
def test_own_words_move_and_contract_as_the_dense_ones_with_a_diagonal_jacobian(kind):
    dense, own = one_step(kind)
    a = dense.architecture
    n = a.hidden
    generator = torch.Generator().manual_seed(4)
    e = torch.randn(own.zeros()["e"].shape, generator=generator, dtype=torch.float64)
    cotangent = torch.randn(a.state_size, generator=generator, dtype=torch.float64)
    unit = torch.arange(a.state_size) % n
    of_gate = torch.arange(a.gates) % n
    there = unit[:, None, None] == of_gate[None, :, None]
    full = {"e": torch.where(there, e.repeat_interleave(n, 0), 0.0)}
    diagonal = torch.where(unit[:, None] == unit, dense.jacobian(), 0.0)
    moved = own.transport(own.jacobian(), {"e": e})
    theirs = dense.transport(diagonal, full)["e"]
    again = torch.where(there, moved["e"].repeat_interleave(n, 0), 0.0)
    torch.testing.assert_close(again, theirs)
    gradient = own.contract(cotangent, {"e": e})
    joined = dense.contract(cotangent, full)["e"]
    torch.testing.assert_close(gradient["W_ih"], joined[:, : a.n_in])
    torch.testing.assert_close(gradient["W_hh"], joined[:, a.n_in : -1])
    torch.testing.assert_close(gradient["b_h"], joined[:, -1])


@pytest.mark.parametrize("kind", OWN)
def test_rtrl_by_own_units_leaves_other_units_out(kind):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    exact, _ = watch(InWords(architecture), params, X, Y).model(0)
    own, _ = watch(ByOwnUnits(architecture), params, X, Y).model(0)
    assert distance(own, exact) > 1e-2
    # Without weights between units nothing is left out.
    eye = torch.eye(architecture.hidden, dtype=torch.bool)
    gates = architecture.gates // architecture.hidden
    params["W_hh"] = params["W_hh"] * eye.repeat(gates, 1)
    exact, _ = watch(InWords(architecture), params, X, Y).model(0)
    own, _ = watch(ByOwnUnits(architecture), params, X, Y).model(0)
    names = ["W_ih", "b_h"]
    ours, theirs = ([{n: g[n] for n in names} for g in found] for found in (own, exact))
    assert distance(ours, theirs) < EXACT


def test_whose_words_serve():
    assert own_units(Normalised(4, 3, 2)) and not own_units(NETWORKS["another"][0])
