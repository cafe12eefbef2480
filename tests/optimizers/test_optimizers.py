"""Every optimizer on every problem in every precision, against a reference set to its variant.

sgd: torch.optim.SGD without momentum. adam: torch.optim.Adam, amsgrad off. adafactor:
torch.optim.Adafactor with its scale by the parameter's size made constant (eps2 above any weight)
and the rate so small that its cap of 1/sqrt(t) never binds. lars: the formula of You, Gitman and
Ginsburg (2017), in plain Python, and numbers worked by hand.
"""

import copy
import math

import pytest
import torch
from harness import make_optimizer, same

from orla import catalogue
from orla.errors import OrlaError

OPTIMIZERS = list(catalogue.parts("optimizer"))

STEPS = 40
RATE = 0.02
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5}


class TextbookLARS(torch.optim.Optimizer):
    """w <- w - lr ||w||/||g|| g for each tensor; lr g where a norm is zero."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                w, g = math.hypot(*p.flatten().tolist()), math.hypot(*p.grad.flatten().tolist())
                trust = w / g if w > 0 and g > 0 else 1.0
                p -= group["lr"] * trust * p.grad


def torch_adafactor(params, lr):
    # Its floor under the second moment is eps1 squared: 1e-30, which single precision still holds.
    scale = 1e4
    return torch.optim.Adafactor(
        params, lr=lr / scale, beta2_decay=-0.8, eps=(1e-15, scale), d=1.0, weight_decay=0.0
    )


REFERENCES = {
    "sgd": lambda params, lr: torch.optim.SGD(params, lr=lr),
    "adam": lambda params, lr: torch.optim.Adam(params, lr=lr, betas=(0.9, 0.999), eps=1e-8),
    "adafactor": torch_adafactor,
    "lars": TextbookLARS,
}


def start(dtype):
    generator = torch.Generator().manual_seed(5)
    shapes = {"W": (4, 3), "U": (1, 6), "b": (5,)}
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        for name, shape in shapes.items()
    }


def quadratic(params, step):
    return {n: (1.0 + 10.0 * i) * (p - 0.3) for i, (n, p) in enumerate(params.items())}


def noise(params, step):
    generator = torch.Generator().manual_seed(step)
    return {
        n: torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p.dtype)
        * 10.0 ** (step % 7 - 3)
        for n, p in params.items()
    }


def sometimes_zero(params, step):
    return noise(params, step) if step % 3 else {n: torch.zeros_like(p) for n, p in params.items()}


def one_row(params, step):
    gradients = noise(params, step)
    gradients["W"][1:] = 0.0
    gradients["b"][2:] = 0.0
    return gradients


PROBLEMS = {f.__name__: f for f in (quadratic, noise, sometimes_zero, one_row)}


def run(name, problem, params, rate=RATE, steps=STEPS):
    """Parameters after each step."""
    rule, history = make_optimizer(name), []
    state = rule.init(params)
    lr = torch.tensor(rate, dtype=params["W"].dtype)
    for step in range(steps):
        updates, state = rule.update(problem(params, step), state, params, lr)
        params = {n: p + updates[n] for n, p in params.items()}
        history.append(params)
    return history


def run_reference(name, problem, params):
    leaves = {n: torch.nn.Parameter(p.clone()) for n, p in params.items()}
    reference, history = REFERENCES[name](list(leaves.values()), RATE), []
    for step in range(STEPS):
        for n, g in problem({n: p.detach() for n, p in leaves.items()}, step).items():
            leaves[n].grad = g
        reference.step()
        history.append({n: p.detach().clone() for n, p in leaves.items()})
    return history


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", REFERENCES)
def test_it_is_the_reference(name, problem, dtype):
    first = start(dtype)
    ours = run(name, PROBLEMS[problem], first)
    theirs = run_reference(name, PROBLEMS[problem], first)
    for a, b in zip(ours, theirs, strict=True):
        for n in a:
            assert a[n].dtype == dtype
            bound = TOLERANCE[dtype]
            torch.testing.assert_close(a[n], b[n], rtol=bound, atol=bound)
    assert all(float((ours[-1][n] - first[n]).abs().max()) > 1e-2 for n in first)


@pytest.mark.parametrize("name", REFERENCES)
def test_another_rate_would_be_noticed(name):
    first = start(torch.float64)
    theirs = run_reference(name, noise, first)
    other = run(name, noise, first, rate=RATE * (1 + 1e-9))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(other[-1], theirs[-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_no_gradient_no_movement(name, dtype):
    first = start(dtype)
    zero = {n: torch.zeros_like(p) for n, p in first.items()}
    last = run(name, lambda *_: zero, first)[-1]
    assert all(torch.equal(last[n], first[n]) for n in first)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_that_start_at_zero_learn(name, dtype):
    zero = {n: torch.zeros_like(p) for n, p in start(dtype).items()}
    history = run(name, quadratic, zero)
    for n in zero:
        assert torch.isfinite(history[-1][n]).all()
        assert float(history[0][n].abs().max()) > 0.0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameters_without_a_gradient_stay_and_nothing_of_theirs_changes(name):
    params, rule = start(torch.float64), make_optimizer(name)
    state, lr = rule.init(params), torch.tensor(RATE)
    gradient = {"b": torch.ones(5, dtype=torch.float64)}
    updates, after = rule.update(gradient, state, params, lr)
    assert set(updates) == {"b"} and set(after) == set(state)
    of_others = [n for n in state if n.endswith((".W", ".U"))]
    assert all(torch.equal(state[n], after[n]) for n in of_others)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_model_of_a_batch_has_its_own_rate(name):
    params, rule = start(torch.float64), make_optimizer(name)
    rates = torch.tensor([0.1, 0.0, 0.003], dtype=torch.float64)
    batch = {n: p.expand(3, *p.shape) for n, p in params.items()}
    gradients = quadratic(batch, 0)
    state = torch.func.vmap(rule.init)(batch)
    updates, _ = torch.func.vmap(rule.update)(gradients, state, batch, rates)
    for model, rate in enumerate(rates):
        alone, _ = rule.update(quadratic(params, 0), rule.init(params), params, rate)
        for n in params:
            torch.testing.assert_close(updates[n][model], alone[n], rtol=1e-13, atol=0)
    assert not updates["W"][1].any() and updates["W"][0].any()


def test_lars_by_hand():
    w = {"W": torch.tensor([[3.0, 4.0]]), "b": torch.zeros(2), "c": torch.ones(1)}
    g = {"W": torch.tensor([[0.0, 2.0]]), "b": torch.tensor([1.0, -2.0]), "c": torch.zeros(1)}
    updates, _ = make_optimizer("lars").update(g, {}, w, torch.tensor(0.1))
    assert updates["W"].tolist() == [pytest.approx([0.0, -0.5])]  # 0.1 * 5/2 * 2
    assert updates["b"].tolist() == pytest.approx([-0.1, 0.2])
    assert updates["c"].tolist() == [0.0]


def test_adafactor_by_hand():
    """First step: R and C are plain means of g^2, V = R C / mean(R); g/sqrt(V) clipped to RMS 1."""
    g = torch.tensor([[3.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    rule = make_optimizer("adafactor")
    state = rule.init({"W": g})
    updates, _ = rule.update({"W": g}, state, {"W": g}, torch.tensor(0.1, dtype=torch.float64))
    # R = (5, 1), C = (5, 1), mean(R) = 3: V = [[25, 5], [5, 1]] / 3
    scaled = [3 * math.sqrt(3) / 5, math.sqrt(3 / 5), math.sqrt(3 / 5), math.sqrt(3)]
    rms = math.sqrt(sum(s * s for s in scaled) / 4)
    assert rms > 1
    expected = [-0.1 * s / rms for s in scaled]
    assert updates["W"].flatten().tolist() == pytest.approx(expected, rel=1e-12)


def test_adam_by_hand():
    """The first update is -lr sign(g) but for eps."""
    w = {"W": torch.tensor([[1.0, 2.0]], dtype=torch.float64)}
    g = {"W": torch.tensor([[1e-8, -5.0]], dtype=torch.float64)}
    updates, _ = make_optimizer("adam").update(
        g, make_optimizer("adam").init(w), w, torch.tensor(0.1)
    )
    assert updates["W"][0].tolist() == pytest.approx([-0.05, 0.1], rel=1e-7)


def test_an_unknown_optimizer_is_refused_with_the_nearest():
    with pytest.raises(OrlaError, match="'adamw' is unknown; the nearest is \"adam\""):
        make_optimizer("adamw")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_init_and_update_are_pure(name):
    """They change nothing that they are given and answer the same again, from any state."""
    params, rule, lr = start(torch.float64), make_optimizer(name), torch.tensor(RATE)
    state = rule.init(params)
    assert same(rule.init(params), state)
    for step in range(3):
        gradients = noise(params, step)
        given = copy.deepcopy((gradients, state, params, lr))
        first = rule.update(gradients, state, params, lr)
        assert same((gradients, state, params, lr), given)
        assert same(rule.update(gradients, state, params, lr), first)
        assert set(first[1]) == set(state)
        params, state = {n: p + first[0][n] for n, p in params.items()}, first[1]


def test_a_rule_that_remembers_by_itself_is_not_pure():
    """The negative control of the test above."""

    class Counting(type(make_optimizer("sgd"))):
        calls = 0

        def update(self, gradients, state, params, lr):
            self.calls += 1
            updates, state = super().update(gradients, state, params, lr)
            return {n: u * self.calls for n, u in updates.items()}, state

    params, rule = start(torch.float64), Counting()
    first, again = (rule.update(noise(params, 0), {}, params, torch.tensor(RATE)) for _ in "ab")
    assert not same(first, again)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_elementwise_optimizer_is_one(name):
    rule = make_optimizer(name)
    params = {"w": torch.arange(1.0, 7.0).view(2, 3)}
    one, other = torch.ones(2, 3), torch.ones(2, 3)
    other[0, 1] = 5.0
    rate, start = torch.tensor(0.1), rule.init(params)
    updates = [rule.update({"w": g}, start, params, rate)[0]["w"] for g in (one, other)]
    elsewhere = torch.ones(2, 3, dtype=torch.bool)
    elsewhere[0, 1] = False
    assert torch.equal(*(u[elsewhere] for u in updates)) == rule.elementwise
