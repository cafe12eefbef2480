"""The parts of tests/plugins, each held to an oracle that shares no code with it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from harness import SQUARED_ERROR, Recorder, adapt, networks, stream, watch
from made_up import models, settings

from orla import catalogue
from orla.engine.loop import Loop
from orla.interventions.base import Gradients
from orla.results import base

PLUGINS = Path(__file__).parent / "plugins"
# Rows of the MGU's parameters with 5 units: its gate's, its candidate's.
GATES = (slice(0, 5), slice(5, 10))
MARKS = {
    "task": "echo",
    "architecture": "mgu",
    "loss": "huber",
    "start": "damped",
    "learner": "discounted",
    "optimizer": "adagrad",
    "intervention": "clip",
    "probe": "gradient_norm",
    "statistic": "gradient_norms",
    "table": "gradient_norms",
    "figure": "norm_against_error",
}


@pytest.fixture(autouse=True)
def plugins():
    before = catalogue.plugin_folders()
    catalogue.use_plugins([PLUGINS])
    yield
    catalogue.use_plugins(before)


def mgu(hidden=5, n_in=3, n_out=2):
    return catalogue.make("architecture", {"kind": "mgu", "hidden": hidden}, n_in=n_in, n_out=n_out)


def test_each_kind_of_part_is_added_by_a_file_of_its_own():
    assert set(MARKS) == set(catalogue.ROOMS)
    before = {kind: set(catalogue.parts(kind)) for kind in MARKS}
    assert len({catalogue.parts(kind)[name].__module__ for kind, name in MARKS.items()}) == 11
    catalogue.use_plugins([])
    for kind, name in MARKS.items():
        also = {"ugrnn"} if kind == "architecture" else set()
        assert before[kind] - set(catalogue.parts(kind)) == {name} | also


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def test_the_network_is_its_formula():
    """Each gate with a weight matrix and a bias of its own, in NumPy."""
    network = mgu()
    params = {n: p[0] for n, p in networks(network).items()}
    W_f, W_n, U_f, U_n = (params[n][rows].numpy() for n in ("W_ih", "W_hh") for rows in GATES)
    b_f, b_n = (params["b_h"][rows].numpy() for rows in GATES)
    ours, h, reset_after = network.initial_state(params), np.zeros(5), np.zeros(5)
    for x in stream(40)[0]:
        ours = network.step(params, ours, x)
        f = sigmoid(W_f @ x.numpy() + U_f @ h + b_f)
        h = (1 - f) * h + f * np.tanh(W_n @ x.numpy() + U_n @ (f * h) + b_n)
        np.testing.assert_allclose(ours, h, rtol=1e-12, atol=1e-14)
        f = sigmoid(W_f @ x.numpy() + U_f @ reset_after + b_f)
        n = np.tanh(W_n @ x.numpy() + f * (U_n @ reset_after) + b_n)
        reset_after = (1 - f) * reset_after + f * n
    assert np.abs(h).max() > 0.1
    assert np.abs(h - reset_after).max() > 1e-3  # with the gate behind the matrix, as in a GRU


def test_the_other_network_is_its_formula():
    network = catalogue.make("architecture", {"kind": "ugrnn", "hidden": 5}, n_in=3, n_out=2)
    assert network.units_independent
    params = {n: p[0] for n, p in networks(network).items()}
    ours = theirs = network.initial_state(params)
    for x in stream(40)[0]:
        ours = network.step(params, ours, x)
        a = params["W_ih"] @ x + params["W_hh"] @ theirs + params["b_h"]
        gate = 1 / (1 + torch.exp(-a[:5]))
        theirs = gate * theirs + (1 - gate) * torch.tanh(a[5:])
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert float(ours.abs().max()) > 0.1


@pytest.mark.parametrize("kind", ["mgu", "ugrnn"])
@pytest.mark.parametrize("name", ["tbptt-24-24", "rtrl"])
def test_learners_of_the_package_work_on_the_network(name, kind):
    """The summed errors of 24 steps have one gradient, by whichever learner."""
    network = catalogue.make("architecture", {"kind": kind, "hidden": 5}, n_in=3, n_out=2)
    X, Y = stream(24)
    params = networks(network)
    learner = catalogue.make("learner", name, architecture=network)
    ours = {
        n: sum(g[n][0] for g in watch(learner, params, X, Y).gradients) for n in network.shapes()
    }
    leaves = {n: p[0].clone().requires_grad_() for n, p in params.items()}
    state, error = network.initial_state(leaves), 0.0
    for x, y in zip(X, Y, strict=True):
        state = network.step(leaves, state, x)
        error = error + ((leaves["W_out"] @ state + leaves["b_out"] - y) ** 2).mean()
    for n, gradient in zip(leaves, torch.autograd.grad(error, leaves.values()), strict=True):
        torch.testing.assert_close(ours[n], gradient, rtol=1e-9, atol=1e-12)


def discounted_by_hand(network, params, X, Y, discount):
    """Each step's gradient: dense Jacobians by autograd, what comes from the past discounted."""
    recurrent = list(network.recurrent_shapes())
    p = {n: q[0] for n, q in params.items()}
    size = network.state_size
    e = {n: torch.zeros(size, *p[n].shape, dtype=torch.float64) for n in recurrent}
    state, found = network.initial_state(p), []
    for x, y in zip(X, Y, strict=True):

        def step(state, *values, x=x):
            return network.step(p | dict(zip(recurrent, values, strict=True)), state, x)

        given = (state, *(p[n] for n in recurrent))
        J, *direct = torch.autograd.functional.jacobian(step, given)
        state = step(*given)
        e = {
            n: discount * torch.einsum("ij,j...->i...", J, e[n]) + d
            for n, d in zip(recurrent, direct, strict=True)
        }
        wrong = p["W_out"] @ state + p["b_out"] - y
        cotangent = (2 / len(y)) * p["W_out"].T @ wrong
        found.append({n: torch.tensordot(cotangent, e[n], 1) for n in recurrent})
    return found


@pytest.mark.parametrize("kind", ["mgu", "rnn"])
def test_the_learner_discounts_the_past(kind):
    network = catalogue.make("architecture", {"kind": kind, "hidden": 4}, n_in=3, n_out=2)
    params, (X, Y) = networks(network), stream(12)

    def ours(given):
        learner = catalogue.make("learner", given, architecture=network)
        return watch(learner, params, X, Y).gradients

    def close(one, other):
        return all(
            torch.allclose(g[n][0], h[n], rtol=1e-10, atol=1e-13)
            for g, h in zip(one, other, strict=True)
            for n in network.recurrent_shapes()
        )

    for discount in (0.0, 0.8, 1.0):
        given = {"kind": "discounted", "discount": discount}
        found = ours(given)
        assert close(found, discounted_by_hand(network, params, X, Y, discount))
        assert not close(found, discounted_by_hand(network, params, X, Y, 0.5))
        this = [{n: g[n][0] for n in g} for g in found]
        # Between the two of the package, and at the ends one of them.
        assert close(ours("immediate"), this) == (discount == 0)
        assert close(ours("rtrl"), this) == (discount == 1)


@pytest.mark.parametrize("options", [{}, {"initial": 0.1, "eps": 1e-3}])
def test_the_optimizer_is_torchs(options):
    optimizer = catalogue.make("optimizer", {"kind": "adagrad", **options})
    drawn = torch.Generator().manual_seed(0)

    def draw():
        shapes = {"W": (3, 4), "b": (3,)}
        return {n: torch.randn(s, generator=drawn, dtype=torch.float64) for n, s in shapes.items()}

    start = draw()
    params, state = dict(start), optimizer.init(start)
    leaves = {n: p.clone().requires_grad_() for n, p in start.items()}
    theirs = torch.optim.Adagrad(
        leaves.values(),
        lr=0.1,
        initial_accumulator_value=options.get("initial", 0.0),
        eps=options.get("eps", 1e-10),
    )
    rate = torch.tensor(0.1, dtype=torch.float64)
    for _ in range(20):
        gradients = draw()
        for n, p in leaves.items():
            p.grad = gradients[n].clone()
        theirs.step()
        updates, state = optimizer.update(gradients, state, params, rate)
        params = {n: p + updates[n] for n, p in params.items()}
    for n, p in leaves.items():
        torch.testing.assert_close(params[n], p.detach(), rtol=1e-12, atol=1e-14)
        assert not torch.allclose(params[n], start[n], rtol=1e-2)


@pytest.mark.parametrize("delta", [0.3, 1.0])
def test_the_loss_is_torchs(delta):
    loss = catalogue.make("loss", {"kind": "huber", "delta": delta})
    outputs, Y = (2 * torch.randn(2, 30, 3, dtype=torch.float64) for _ in range(2))
    theirs = torch.nn.HuberLoss(reduction="none", delta=delta)(outputs, Y).mean(-1)
    torch.testing.assert_close(loss.errors(outputs, Y), theirs)
    leaf = outputs[0, 0].clone().requires_grad_()
    torch.nn.HuberLoss(delta=delta)(leaf, Y[0, 0]).backward()
    error, cotangent = loss.with_cotangent(outputs[0, 0], Y[0, 0])
    torch.testing.assert_close(error, theirs[0, 0])
    torch.testing.assert_close(cotangent, leaf.grad)
    scored = torch.arange(30) % 3 == 0
    sizes = np.abs(outputs.numpy() - Y.numpy()).mean(2)[:, ::3].mean(1)
    np.testing.assert_allclose(loss.scores(outputs, Y, scored)["absolute_error"], sizes)


def test_hubers_best_constant_is_found_though_it_has_no_formula():
    loss = catalogue.make("loss", {"kind": "huber", "delta": 0.5})
    Y = torch.rand(80, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 4 * 5

    def mean(constant):
        return float(loss.errors(torch.full((1, 80, 1), constant, dtype=torch.float64), Y).mean())

    best = loss.constant_error(Y, 1)
    grid = [mean(c) for c in torch.linspace(0, 5, 20_001, dtype=torch.float64).tolist()]
    assert best == pytest.approx(min(grid), rel=1e-6) and best <= min(grid)
    assert best < 0.99 * mean(float(Y.mean()))


@pytest.mark.parametrize("variant, late", [("shift", 4), ("stationary", 2)])
def test_the_task_gives_its_input_back_later(variant, late):
    task = catalogue.make("task", {"kind": "echo", "delay": 2, "shifted": 4, "decay": 0.8})
    episode = task.episode(variant, range(3))
    assert episode.loss == "huber" and episode.n_out == 1
    for stream_, steps in (
        (episode.pretraining, 2),
        (episode.whole, late),
        (episode.reference, 2),
    ):
        X, Y = stream_.X[..., 0], stream_.Y[..., 0]
        np.testing.assert_array_equal(Y[:, steps:], X[:, :-steps])
        # The copy of what came before the part goes on with the signal.
        assert not np.isclose(Y[:, :steps], X[:, :steps]).any()
    X = np.concatenate([episode.pretraining.X, episode.whole.X], 1)[..., 0]
    # Unit variance, and a lag-1 correlation of 0.8: standard errors over 21,000 steps are 0.015.
    assert X.std() == pytest.approx(1.0, abs=0.06)
    assert (X[:, 1:] * X[:, :-1]).mean() == pytest.approx(0.8, abs=0.08)
    assert not np.isclose(X[0], X[1]).any()


def test_the_intervention_is_torchs_clip():
    clip = catalogue.make("intervention", {"kind": "clip", "most": 0.5})
    for scale in (0.01, 5.0):
        own = {"W": scale * torch.randn(3, 2), "b": scale * torch.randn(3)}
        leaves = [torch.nn.Parameter(g.clone()) for g in own.values()]
        for leaf, g in zip(leaves, own.values(), strict=True):
            leaf.grad = g.clone()
        torch.nn.utils.clip_grad_norm_(leaves, 0.5)
        given, _ = clip.update(Gradients(own, {}), {}, {})
        for leaf, g in zip(leaves, given.values(), strict=True):
            torch.testing.assert_close(g, leaf.grad, rtol=1e-5, atol=1e-7)


def test_the_probe_measures_before_and_after_the_intervention():
    network, (X, Y) = mgu(), stream(6)
    loop = Loop(
        catalogue.make("learner", "immediate", architecture=network),
        catalogue.make("optimizer", "adagrad"),
        SQUARED_ERROR,
        interventions=[catalogue.make("intervention", {"kind": "clip", "most": 0.01})],
        probes=[catalogue.make("probe", "gradient_norm"), Recorder()],
        segment=1,
    )
    params = networks(network)
    series = adapt(loop, params, params["W_out"].new_full((2,), 0.01), X, Y).series
    for name, of in (("gradient_norm", "gradient "), ("learned_norm", "learned ")):
        flat = [v.reshape(2, 6, -1) for k, v in series.items() if k.startswith(of)]
        by_hand = np.linalg.norm(np.concatenate(flat, 2), axis=2)
        np.testing.assert_allclose(series[name], by_hand, rtol=1e-12)
    np.testing.assert_allclose(series["gradient_norm"], 0.01, rtol=1e-12)
    assert (series["learned_norm"] > 0.02).all()
    assert set(loop.probes[0].summary(series)) == {"gradient_norm", "learned_norm"}


def test_the_start_changes_the_recurrent_weights_alone():
    network = mgu()
    params = {n: p[0] for n, p in networks(network).items()}
    start = catalogue.make("start", {"kind": "damped", "factor": 0.25})
    begun = start.apply(network, params, torch.Generator())
    for n, p in params.items():
        assert torch.equal(begun[n], 0.25 * p if n == "W_hh" else p)


def test_the_statistic_is_the_mean_at_the_selected_rate():
    table = models(learners=["immediate", "rtrl"], seeds=4)
    drawn = np.random.default_rng(3)
    for name in ("gradient_norm", "learned_norm", "absolute_error"):
        table[name] = drawn.uniform(1, 2, len(table))
    table.loc[(table["learner"] == "rtrl") & (table["seed"] == 2), "gradient_norm"] = np.nan
    found = base.build("gradient_norms", {"models": table}, settings()).set_index("learner")
    for learner, n in (("immediate", 4), ("rtrl", 3)):
        rows = table[table["selected"] & (table["learner"] == learner)]
        row = found.loc[learner]
        assert row["n_seeds"] == n
        for name in ("gradient_norm", "learned_norm", "absolute_error"):
            assert row[name] == pytest.approx(rows[name].mean(), rel=1e-12)
        ends = rows["gradient_norm"].min(), rows["gradient_norm"].max()
        assert ends[0] <= row["low"] < row["gradient_norm"] < row["high"] <= ends[1]


@pytest.fixture
def norms():
    """Two learners, clipped and not, as the statistic gives them."""
    frame = pd.DataFrame(
        {"learner": ["immediate", "discounted"] * 2, "intervention": ["none", "none", "c", "c"]}
    ).assign(
        **{"task": "echo", "pair": "", "architecture": "mgu", "optimizer": "adagrad"},
        **{"precision": "float64", "split": "shift", "start": "pretrained", "n_seeds": 2},
    )
    numbers = np.arange(1.0, 21.0).reshape(4, 5)
    names = ["gradient_norm", "low", "high", "learned_norm", "absolute_error"]
    return frame.assign(**dict(zip(names, numbers.T, strict=True)))


def test_the_table_has_a_line_a_row_in_the_order_of_learners(norms):
    from orla.reports.study import StudyFacts

    table = catalogue.part("table", "gradient_norms")()
    study = StudyFacts(name="s", simulated=True, recordings=("echo",))
    document = table.build(norms.iloc[::-1], study=study)
    assert document.caption.startswith("SIMULATED")
    synthetic = table.build(norms, study=replace(study, recordings=()))
    assert "SIMULATED" not in synthetic.caption and not synthetic.data["simulated"].any()
    plain, clipped = sorted(document.panels, key=lambda panel: float(panel.rows[0][2]))
    assert plain.title != clipped.title
    assert [row[2:] for row in plain.rows] == [
        ("4.000", "1.000 [2.000,\u00a03.000]", "5.000", "2"),
        ("9.000", "6.000 [7.000,\u00a08.000]", "10.000", "2"),
    ]
    assert [row[0].split(",")[0] for row in clipped.rows] == ["immediate", "discounted RTRL"]
    assert len(document.data) == 4 and document.data["simulated"].all()


def test_the_figure_draws_a_point_a_row(norms, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    from orla.reports import style
    from orla.reports.study import StudyFacts

    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, *paths: drawn.append(figure))
    figure, study = catalogue.part("figure", "norm_against_error")(), StudyFacts(name="s")
    caption = figure.render(norms, paths=[tmp_path / "a.png"], study=study)
    labels = [text.get_text().split(",")[0] for text in drawn[0].legends[0].get_texts()]
    points = [line.get_xydata().tolist() for line in drawn[0].axes[0].lines]
    assert labels == ["immediate", "discounted RTRL"]
    assert points == [[[1, 5], [11, 15]], [[6, 10], [16, 20]]]
    assert "n = 2" in caption.caption and "norms 1.00 to 11.00" in caption.alt
    assert figure.render(norms.iloc[:0], study=study) is None
    plt.close("all")
