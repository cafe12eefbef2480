"""Every optimizer on every problem in every precision, against a reference set to its variant.

The reference is PyTorch's where PyTorch has the optimizer, else optax's; of LARS, the formula of
You, Gitman and Ginsburg (2017). The scale of PyTorch's Adafactor by the parameter's size is made
constant (eps2 above any weight), and the rate so small that its cap of 1/sqrt(t) never binds.
"""

import copy
import math
from functools import cache
from unittest import mock

import jax
import optax
import pytest
import torch
from harness import make_optimizer, same

from orla import catalogue
from orla.study.rates import half_decade_index

OPTIMIZERS = list(catalogue.parts("optimizer"))

STEPS = 21
RATE = 0.02
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5}


@pytest.fixture(scope="module", autouse=True)
def double_precision_in_jax():
    with jax.enable_x64(True):
        yield


class TextbookLARS:
    """w <- w - lr ||w||/||g|| g for each tensor; lr g where a norm is zero."""

    def __init__(self, params, lr):
        self.params, self.lr = params, lr

    @torch.no_grad()
    def step(self):
        for p in self.params:
            w, g = math.hypot(*p.flatten().tolist()), math.hypot(*p.grad.flatten().tolist())
            p -= self.lr * (w / g if w > 0 and g > 0 else 1.0) * p.grad


class TorchMuon:
    """torch.optim.Muon for matrices, in their own precision; torch.optim.Adam for vectors."""

    def __init__(self, params, lr, **options):
        self.matrices = torch.optim.Muon(
            [p for p in params if p.dim() == 2], lr=lr, weight_decay=0.0, **options
        )
        self.vectors = torch.optim.Adam([p for p in params if p.dim() != 2], lr=lr)

    def step(self):
        with mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
            self.matrices.step()
        self.vectors.step()


class Optax:
    """A transformation of optax as an optimizer of PyTorch's parameters."""

    def __init__(self, params, transformation):
        self.params, (init, self.update) = params, transformation
        self.state = init(self.arrays(params))

    @staticmethod
    def arrays(tensors):
        return [jax.numpy.asarray(t.detach().numpy()) for t in tensors]

    @torch.no_grad()
    def step(self):
        gradients = self.arrays(p.grad for p in self.params)
        updates, self.state = self.update(gradients, self.state, self.arrays(self.params))
        for p, update in zip(self.params, updates, strict=True):
            p += torch.tensor(jax.device_get(update))


@cache
def compiled(make, *arguments):
    """Init and the compiled update of a transformation, once for all tests."""
    transformation = make(*arguments)
    return transformation.init, jax.jit(transformation.update)


def by_optax(make, *options):
    """A reference by a function of optax that takes a rate and these options."""
    return lambda params, lr: Optax(params, compiled(make, lr, *options))


def mean_gradient(lr, decay=0.9, debias=True):
    return optax.chain(optax.ema(decay, debias), optax.scale(-lr))


def normalised(lr):
    return optax.normalize_by_update_norm(-lr, eps=1e-30)


def momentum_of_signs(lr):
    return optax.chain(optax.scale_by_sign(), optax.ema(0.9, debias=False), optax.scale(-lr))


def eps_in_the_root(lr):
    return optax.rmsprop(lr, decay=0.99, eps=1e-8, eps_in_sqrt=True)


def torch_adafactor(params, lr):
    # Its floor under the second moment is eps1 squared: 1e-30, which single precision still holds.
    scale = 1e4
    return torch.optim.Adafactor(
        params, lr=lr / scale, beta2_decay=-0.8, eps=(1e-15, scale), d=1.0, weight_decay=0.0
    )


def torchs(kind, **options):
    """A reference of PyTorch's with these options."""
    return lambda params, lr: kind(params, lr=lr, **options)


REFERENCES = {
    "sgd": torchs(torch.optim.SGD),
    "adam": torchs(torch.optim.Adam, betas=(0.9, 0.999), eps=1e-8),
    "adam, beta2 only": torchs(torch.optim.Adam, betas=(0.0, 0.999), eps=1e-8),
    "adam-beta1": by_optax(mean_gradient),
    "adafactor": torch_adafactor,
    "lars": TextbookLARS,
    "rmsprop": torchs(torch.optim.RMSprop, alpha=0.99, eps=1e-8),
    "rmsprop, other": torchs(torch.optim.RMSprop, alpha=0.9, eps=1e-3),
    "gradnorm": by_optax(normalised),
    "signsgd": by_optax(optax.sign_sgd),
    "signsgd-momentum": by_optax(optax.signum, 0.9),
    "lion": by_optax(optax.lion, 0.9, 0.99, None, 0.0),
    "muon": TorchMuon,
    "muon, other": torchs(TorchMuon, momentum=0.8, ns_steps=3, eps=0.1),
}

# References that are instances with options of their own.
INSTANCES = {
    "adam, beta2 only": {"kind": "adam", "beta1": 0.0},
    "rmsprop, other": {"kind": "rmsprop", "alpha": 0.9, "eps": 1e-3},
    "muon, other": {"kind": "muon", "momentum": 0.8, "steps": 3, "eps": 0.1},
}

# Other variants, and the optimizers that they are not.
OTHERS = {
    "eps in the root": ("rmsprop", by_optax(eps_in_the_root)),
    "bias corrected": ("rmsprop", torchs(torch.optim.Adam, betas=(0.0, 0.99))),
    "beta1 too": ("adam, beta2 only", torchs(torch.optim.Adam, betas=(0.1, 0.999))),
    "not corrected": ("adam-beta1", by_optax(mean_gradient, 0.9, False)),
    "as it is": ("signsgd", torchs(torch.optim.SGD)),
    "momentum of signs": ("signsgd-momentum", by_optax(momentum_of_signs)),
    "betas exchanged": ("lion", by_optax(optax.lion, 0.99, 0.9, None, 0.0)),
    "not Nesterov's": ("muon", torchs(TorchMuon, nesterov=False)),
    "another scale": ("muon", torchs(TorchMuon, adjust_lr_fn="match_rms_adamw")),
}


def made(name):
    """The optimizer that a reference is compared with."""
    return make_optimizer(INSTANCES.get(name, name))


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


def huge(params, step):
    """Gradients whose squares are the largest numbers that there are, but for a few decades."""
    return {n: 1e150 * 10.0 ** (3 - step % 7) * g for n, g in noise(params, step).items()}


PROBLEMS = {f.__name__: f for f in (quadratic, noise, sometimes_zero, one_row, huge)}


def zeros(params):
    return {n: torch.zeros_like(p) for n, p in params.items()}


def run(name, problem, params, rate=RATE, steps=STEPS):
    """Parameters after each step."""
    rule, history = made(name), []
    state = rule.init(params)
    lr = torch.tensor(rate, dtype=params["W"].dtype)
    for step in range(steps):
        updates, state = rule.update(problem(params, step), state, params, lr)
        params = {n: p + updates[n] for n, p in params.items()}
        history.append(params)
    return history


def run_reference(make, problem, params):
    """Parameters after each step of a reference."""
    leaves = {n: torch.nn.Parameter(p.clone()) for n, p in params.items()}
    reference, history = make(list(leaves.values()), RATE), []
    for step in range(STEPS):
        for n, g in problem({n: p.detach() for n, p in leaves.items()}, step).items():
            leaves[n].grad = g
        reference.step()
        history.append({n: p.detach().clone() for n, p in leaves.items()})
    return history


def assert_equal(ours, theirs, bound):
    """Two histories, step by step."""
    for a, b in zip(ours, theirs, strict=True):
        for n in a:
            assert a[n].dtype == b[n].dtype
            torch.testing.assert_close(a[n], b[n], rtol=bound, atol=bound)


def test_every_optimizer_has_a_reference():
    assert set(OPTIMIZERS) | set(INSTANCES) == set(REFERENCES)


@pytest.mark.parametrize(
    ("problem", "dtype", "begin"),
    [
        *((problem, torch.float64, start) for problem in PROBLEMS),
        ("noise", torch.float64, lambda dtype: zeros(start(dtype))),
        ("quadratic", torch.float32, start),
        ("sometimes_zero", torch.float32, start),
    ],
)
@pytest.mark.parametrize("name", REFERENCES)
def test_it_is_the_reference(name, problem, dtype, begin):
    # PyTorch's Adafactor multiplies mean squares of rows by those of columns, 1e600 here.
    if (name, problem) == ("adafactor", "huge"):
        return
    first = begin(dtype)
    ours = run(name, PROBLEMS[problem], first)
    theirs = run_reference(REFERENCES[name], PROBLEMS[problem], first)
    assert ours[0]["W"].dtype == dtype
    assert_equal(ours, theirs, TOLERANCE[dtype])
    for n, p in ours[-1].items():
        assert torch.isfinite(p).all() and float((p - first[n]).abs().max()) > 1e-6


@pytest.mark.parametrize("other", OTHERS)
def test_another_variant_is_noticed(other):
    name, make = OTHERS[other]
    first = start(torch.float64)
    with pytest.raises(AssertionError, match="not close"):
        assert_equal(run(name, noise, first), run_reference(make, noise, first), 1e-12)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_without_a_gradient_nothing_moves_and_weights_of_zero_learn(name, dtype):
    first = start(dtype)
    last = run(name, lambda params, _: zeros(params), first)[-1]
    assert all(torch.equal(last[n], first[n]) for n in first)
    assert all(
        p.any() and p.isfinite().all() for p in run(name, quadratic, zeros(first))[0].values()
    )


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


@pytest.mark.parametrize("size", [-1.0, 1e200, 1e-200])
def test_gradnorm_by_hand(size):
    """3, 4 and 12 have the norm 13, over both parameters; 0 moves nothing."""
    g = {
        "W": size * torch.tensor([[3.0, 4.0]], dtype=torch.float64),
        "b": size * torch.tensor([12.0], dtype=torch.float64),
    }
    rule, lr = make_optimizer("gradnorm"), torch.tensor(1.3, dtype=torch.float64)
    updates, _ = rule.update(g, {}, g, lr)
    down = -math.copysign(1.0, size)
    assert updates["W"][0].tolist() == pytest.approx([0.3 * down, 0.4 * down], rel=1e-15)
    assert updates["b"].tolist() == pytest.approx([1.2 * down], rel=1e-15)
    nothing, _ = rule.update({n: 0.0 * p for n, p in g.items()}, {}, g, lr)
    assert not nothing["W"].any() and not nothing["b"].any()
    alone, _ = rule.update(g | {"W": 0.0 * g["W"]}, {}, g, lr)
    assert alone["b"].tolist() == pytest.approx([1.3 * down], rel=1e-15)


def muons_first_update(g):
    rule, lr = make_optimizer("muon"), torch.tensor(0.1, dtype=torch.float64)
    return rule.update({"W": g}, rule.init({"W": g}), {"W": g}, lr)[0]["W"]


@pytest.mark.parametrize("rank", [1, 7])
@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (6, 6), (1, 4), (1, 1)])
def test_muon_brings_singular_values_near_one(shape, rank):
    """Singular vectors stay; singular values, of norm 1, pass a s + b s^3 + c s^5 five times.

    A tall matrix's update is sqrt(rows / columns) times as large.
    """
    rows, columns = shape
    drawn = torch.Generator().manual_seed(1)
    a, b = (torch.randn(n, rank, generator=drawn, dtype=torch.float64) for n in shape)
    u, s, v = torch.linalg.svd(a @ b.T, full_matrices=False)
    s = s / torch.linalg.vector_norm(s)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    kept = slice(min(rank, *shape))
    assert (s[kept] > 0.1).all() and (s[kept] < 1.3).all()
    expected = -0.1 * math.sqrt(max(1, rows / columns)) * (u * s) @ v
    torch.testing.assert_close(muons_first_update(a @ b.T), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_declared_rates_are_three_half_decades_that_rise(name):
    for rates in catalogue.parts("optimizer")[name].part.more["grid"].values():
        numbers = [half_decade_index(rate) for rate in rates]
        assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_pure_and_elementwise_and_scale_free_as_declared(name):
    """It changes nothing that it is given and answers the same again; elementwise, scale free."""
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

    params = {"w": torch.arange(1.0, 7.0).view(2, 3)}
    one, other = torch.ones(2, 3), torch.ones(2, 3)
    other[0, 1] = 5.0
    updates = [rule.update({"w": g}, rule.init(params), params, lr)[0]["w"] for g in (one, other)]
    assert torch.equal(*(u[other == 1] for u in updates)) == rule.elementwise

    moves = []
    for factors in ((1, 1, 1, 1), (7, 0.2, 30, 0.01)):

        def scaled(params, step, factors=factors):
            return {n: factors[step] * g for n, g in noise(params, step).items()}

        moves.append(run(name, scaled, start(torch.float64), steps=4)[-1]["W"])
    assert torch.allclose(*moves, rtol=1e-9, atol=1e-12) == rule.part.more["scale_free"]
