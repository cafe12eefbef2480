"""Recording and replaying, with a stand-in for the recorder where there is no CUDA device."""

import pytest
import torch
from harness import NETWORKS, networks, stream

from orla import compiling, cuda_graphs
from orla.adapt import Adapter
from orla.cuda_graphs import Graphed
from orla.learners import RTRL, TBPTT, Immediate
from orla.optimizers import optimizer

RNN = NETWORKS["rnn"][0]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def stand_in(monkeypatch):
    """A graph on the CPU: a replay reads the recorded inputs and writes the recorded outputs."""

    def recorded(function, inputs):
        outputs = function(*inputs)

        def replay():
            for name, value in function(*inputs).items():
                outputs[name].copy_(value)

        return replay, outputs

    monkeypatch.setattr(cuda_graphs, "_recorded", recorded)


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


def test_arguments_are_left_alone(stand_in):
    given = torch.ones(2)
    graph = Graphed(lambda x: {"sum": x.sum()}, (given,))
    graph(torch.full((2,), 3.0))
    assert given.tolist() == [1.0, 1.0]


@needs_cuda
@pytest.mark.parametrize("learner", [Immediate(RNN), TBPTT(RNN, 8, 4), RTRL(RNN, block=6)])
def test_a_cuda_device_gives_the_numbers_of_the_cpu(learner):
    params, (X, Y) = networks(RNN, models=3), stream(48)
    rates = torch.tensor([0.003, 0.01, 0.02], dtype=torch.float64)
    compiling.configure(compile=False)
    adapter = Adapter(learner, optimizer("adam"), segment=24)
    expected = adapter(params, rates, X, Y)
    compiling.configure(compile=True, device="cuda")
    ours = adapter({n: p.cuda() for n, p in params.items()}, rates.cuda(), X.cuda(), Y.cuda())
    for name, p in expected.params.items():
        torch.testing.assert_close(ours.params[name].cpu(), p, rtol=1e-9, atol=1e-11)
