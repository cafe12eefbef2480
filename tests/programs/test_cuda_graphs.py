"""Recording and replaying, with a stand-in for the recorder where there is no CUDA device."""

import numpy as np
import pytest
import torch
from harness import fits
from programs.support import RATES, learner, loop, network, parameters, run, stream
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.derivatives import structured
from orla.engine import forward, steps
from orla.learners import blocks
from orla.programs import compiling, cuda_graphs
from orla.programs.cuda_graphs import Graphed
from orla.programs.scan import repeat

NETWORKS = ["rnn", "lstm", "leaky"]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def stand_in(monkeypatch):
    """A graph on the CPU: a replay reads the recorded inputs and writes the recorded outputs."""

    recordings = []

    def recorded(function, inputs):
        outputs = function(*inputs)
        recordings.append(function)
        # As a graph does, it keeps what it found on the CPU: the positions of a stretch.
        kept = inputs
        if getattr(function, "__name__", "") == "run_steps":
            kept = (*inputs[:-2], *(position.clone() for position in inputs[-2:]))

        def replay():
            again = pytree.tree_leaves(function(*kept))
            for place, value in zip(pytree.tree_leaves(outputs), again, strict=True):
                place.copy_(value)

        return replay, outputs

    monkeypatch.setattr(cuda_graphs, "_recorded", recorded)
    return recordings


@pytest.fixture
def as_on_a_device(stand_in, monkeypatch):
    """The way that a CUDA device's tensors go, for those at hand."""
    compiling.configure(compile=True)
    monkeypatch.setattr(compiling, "_on_cuda", lambda arguments: True)
    for module in (steps, blocks, structured):
        monkeypatch.setattr(module, "readable", lambda tensor: False)
    monkeypatch.setattr(blocks.kernels, "serve", lambda example: False)
    blocks._pull_units.cache_clear()
    yield stand_in
    compiling.configure(compile=False)
    blocks._pull_units.cache_clear()


def test_each_call_sees_its_own_arguments_and_keeps_its_own_results(stand_in):
    graph = Graphed(lambda x: {"double": 2 * x["x"]}, ({"x": torch.ones(2)},))
    first = graph({"x": torch.tensor([1.0, 2.0])})
    second = graph({"x": torch.tensor([5.0, 6.0])})
    assert first["double"].tolist() == [2.0, 4.0]
    assert second["double"].tolist() == [10.0, 12.0]


def test_what_is_changed_in_place_is_changed_where_it_came_from(stand_in):
    def add(total, x):
        return {"sum": total.add_(x)}

    graph = Graphed(add, (torch.ones(2), torch.ones(2)))
    total, x = torch.zeros(2), torch.full((2,), 3.0)
    assert graph(total, x)["sum"].tolist() == [3.0, 3.0]
    graph(total, x)
    assert total.tolist() == [6.0, 6.0] and x.tolist() == [3.0, 3.0]


def test_what_was_not_changed_is_not_copied_again(stand_in):
    copied = []
    graph = Graphed(lambda x, y: {"sum": x + y}, (torch.ones(2), torch.ones(2)))
    for inside, name in zip(graph._inputs, "xy", strict=True):
        inside.copy_ = lambda outside, name=name, copy=inside.copy_: (
            copied.append(name) or copy(outside)
        )
    x, y = torch.zeros(2), torch.zeros(2)
    assert graph(x, y)["sum"].tolist() == [0.0, 0.0] and copied == ["x", "y"]
    assert graph(x, y)["sum"].tolist() == [0.0, 0.0] and copied == ["x", "y"]
    y[:1].add_(3.0)
    assert graph(x, y)["sum"].tolist() == [3.0, 0.0] and copied == ["x", "y", "y"]
    assert graph(x.clone() + 1.0, y)["sum"].tolist() == [4.0, 1.0]
    assert graph(x, y)["sum"].tolist() == [3.0, 0.0] and copied == [*"xyy", *"xx"]


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("name", ["immediate", "tbptt-8-4", "rtrl"])
@pytest.mark.parametrize("segment", [24, 16])
def test_recorded_stretches_give_the_same_numbers(kind, name, segment, as_on_a_device, monkeypatch):
    driver = learner({"kind": "rtrl", "block": 6} if name == "rtrl" else name, kind)

    def adapted():
        return run(loop(driver, segment=segment), moments=stream(54))

    ours = adapted()
    runs = [f for f in as_on_a_device if getattr(f, "__name__", "") == "run_steps"]
    monkeypatch.undo()
    compiling.configure(compile=False)
    expected = adapted()
    for n, p in expected.state.params.items():
        torch.testing.assert_close(ours.state.params[n], p, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.errors, expected.errors, rtol=1e-9)
    ratios = (a.series["update_ratio"] for a in (ours, expected))
    np.testing.assert_allclose(next(ratios), next(ratios), rtol=1e-6)
    # One graph for each number of steps: a segment or a divisor of it and the block, and the rest.
    assert len(runs) == {"immediate": 2, "tbptt-8-4": 0, "rtrl": 1}[name]


def form(name):
    """A learner with blocks or windows that fit the stream."""
    short = catalogue.parts("learner")[name].part.short
    return {"kind": name, "block": 6} if name == "rtrl" else "-".join([name, *["8"] * len(short)])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in NETWORKS
        for name in catalogue.parts("learner")
        if fits(network(kind), form(name))
    ],
)
def test_what_is_recorded_looks_at_no_value(kind, name):
    """On PyTorch's device without values, where to look at one is an error."""
    driver = learner(form(name), kind)

    def without(tree):
        return pytree.tree_map(lambda t: t.to("meta"), tree)

    made = loop(driver)
    state = made.start(without(parameters(driver.architecture)))
    moments = without(stream())
    for part in (slice(0, 24), slice(24, 48)):
        some = {n: m[part] for n, m in moments.items()}
        errors, _ = made._advance(state, without(RATES), some, 24 // made.learner.stride)
        assert errors.device.type == "meta" and errors.shape == (24, 3)
    ran = forward.outputs_of(driver.architecture, state.params, None, moments)
    assert ran.device.type == "meta" and ran.shape == (3, 48, 2)


def test_looking_at_a_value_would_be_noticed():
    with pytest.raises(RuntimeError, match="meta"):
        repeat(lambda x: x < 3.0, lambda x: (x + 1.0,), (torch.ones((), device="meta"),))


def test_arguments_are_left_alone(stand_in):
    given = torch.ones(2)
    graph = Graphed(lambda x: {"sum": x.sum()}, (given,))
    graph(torch.full((2,), 3.0))
    assert given.tolist() == [1.0, 1.0]


@needs_cuda
@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("spec", ["immediate", {"kind": "rtrl", "block": 6}, "tbptt-8-4"])
def test_a_cuda_device_gives_the_numbers_of_the_cpu(kind, spec, request):
    made = loop(learner(spec, kind), segment=16)
    params = parameters(made.learner.architecture)
    request.addfinalizer(lambda: compiling.configure(compile=False))
    compiling.configure(compile=False)
    expected = run(made, params, moments=stream(54))
    compiling.configure(compile=True, device="cuda")
    moments = {n: m.cuda() for n, m in stream(54).items()}
    ours = run(made, {n: p.cuda() for n, p in params.items()}, RATES.cuda(), moments)
    for name, p in expected.state.params.items():
        torch.testing.assert_close(ours.state.params[name].cpu(), p, rtol=1e-9, atol=1e-11)
