"""Compiled loops against the eager ones, and a model's independence of its company to the last bit.

A model's bits do not depend on its place in a batch nor on its neighbours. They may depend on the
batch's size: each size is a program of its own, which need not add in the same order (test_adapt.py
holds sizes to each other to rounding). Each compilation costs seconds, so that a few conditions
stand for all: every learner's loop, every optimizer and every architecture is compiled once.
"""

import subprocess
import sys

import numpy as np
import pytest
import torch
from harness import NETWORKS, cumulative, networks, stream

from orla.engine import forward as evaluation
from orla.engine.loop import Adapter
from orla.errors import OrlaError
from orla.learners import RTRL, TBPTT, Immediate, LastLayer
from orla.optimizers import optimizer
from orla.probes import update_ratio
from orla.programs import compiling
from orla.programs.compiling import Compiled
from orla.programs.scan import in_layout_of, repeat, scan, scan_in_place
from orla.study.batches import chosen

RNN, LSTM, ANOTHER = (NETWORKS[kind][0] for kind in ("rnn", "lstm", "another"))
CONDITIONS = {
    "rnn immediate adam": (Immediate(RNN), "adam"),
    "rnn immediate adafactor": (Immediate(RNN), "adafactor"),
    "lstm tbptt-8-4 lars": (TBPTT(LSTM, window=8, update_every=4), "lars"),
    "rnn tbptt-24-24 adam": (TBPTT(RNN, window=24, update_every=24), "adam"),
    "lstm rtrl adafactor": (RTRL(LSTM, block=8), "adafactor"),
    "another rtrl sgd": (RTRL(ANOTHER, block=6), "sgd"),
    "another last-layer sgd": (LastLayer(ANOTHER), "sgd"),
}
RATES = torch.tensor([0.003, 0.01, 0.02], dtype=torch.float64)
STEPS, SEGMENT = 48, 24


@pytest.fixture(autouse=True)
def eager_again():
    yield
    compiling.configure(compile=False)


def inputs(learner):
    return networks(learner.architecture, models=3), RATES, *stream(STEPS)


@pytest.fixture(scope="module", params=CONDITIONS)
def pair(request):
    """A learner and optimizer: the eager run, the compiled one, and the compiled adapter."""
    learner, name = CONDITIONS[request.param]
    rule = optimizer(name)
    compiling.configure(compile=False)
    eager = Adapter(learner, rule, [update_ratio], SEGMENT)(*inputs(learner))
    compiling.configure(compile=True)
    adapter = Adapter(learner, rule, [update_ratio], SEGMENT)
    return eager, adapter(*inputs(learner)), adapter


def test_compiled_equals_eager_to_rounding(pair):
    eager, fast, adapter = pair
    before, *_ = inputs(adapter.learner)
    for name, p in eager.params.items():
        torch.testing.assert_close(fast.params[name], p, rtol=1e-9, atol=1e-11)
    assert not torch.equal(fast.params["W_out"], before["W_out"])
    np.testing.assert_allclose(fast.losses, eager.losses, rtol=1e-9)
    np.testing.assert_allclose(fast.series["update_ratio"], eager.series["update_ratio"], rtol=1e-6)


def test_later_segments_and_batches_compile_nothing_again(pair):
    _, _, adapter = pair
    compiling.configure(compile=True)
    adapter(*inputs(adapter.learner))
    apart = adapter.learner.loops
    assert len(adapter._compiled_run._programs) == (not apart)
    assert len(adapter._compiled_step._programs) == len(adapter._compiled_apply._programs) == apart


def test_optimizers_share_a_windows_gradient_and_learners_an_update(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path))
    compiling.configure(compile=True)
    window, cut = TBPTT(RNN, window=24, update_every=24), Immediate(RNN, window=24)
    for learner, rule in ((window, "adam"), (window, "sgd"), (cut, "adam")):
        Adapter(learner, optimizer(rule), [], SEGMENT)(*inputs(learner))
    assert len(list((tmp_path / "programs").glob("*.program"))) == 4


def test_a_models_place_in_its_batch_changes_no_bit(pair):
    _, fast, adapter = pair
    compiling.configure(compile=True)
    params, rates, X, Y = inputs(adapter.learner)
    order = torch.tensor([2, 0, 0])
    other = adapter(chosen(params, order), rates[order], X, Y)
    for name, p in fast.params.items():
        assert torch.equal(other.params[name], p[order])
    assert np.array_equal(other.losses, fast.losses[order.numpy()])
    assert not torch.equal(fast.params["W_out"][0], fast.params["W_out"][2])


def test_a_diverging_neighbour_changes_no_bit(pair):
    _, fast, adapter = pair
    compiling.configure(compile=True)
    params, rates, X, Y = inputs(adapter.learner)
    params["W_out"][1] = torch.nan
    other = adapter(params, rates, X, Y)
    assert np.isnan(other.losses[1]).all()
    for name, p in fast.params.items():
        assert torch.equal(other.params[name][[0, 2]], p[[0, 2]])


def test_forward_runs_compile():
    params, X = networks(LSTM, models=3), stream(250)[0]
    eager = evaluation.run(LSTM, params, None, X).outputs
    compiling.configure(compile=True)
    fast = evaluation.run(LSTM, params, None, X).outputs
    torch.testing.assert_close(fast, eager, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_a_compiled_loop_carries_and_collects(factor):
    compiling.configure(compile=True)
    last, before = Compiled(cumulative(factor), "test")(torch.ones(()), torch.arange(5.0))
    expected = [1.0]
    for x in range(5):
        expected.append(factor * expected[-1] + x)
    assert before.tolist() == expected[:-1] and last.item() == expected[-1]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_repeats_while_its_condition_holds(compiled):
    def powers(x0, limit):
        def more(x, n, limit):
            return x < limit

        return repeat(more, lambda x, n, limit: (2 * x, n + 1), (x0, x0 - 1), (limit,))

    compiling.configure(compile=compiled)
    program = Compiled(powers, "powers")
    for limit, expected in ((5.0, [8.0, 3.0]), (64.0, [64.0, 6.0]), (0.0, [1.0, 0.0])):
        assert [t.item() for t in program(torch.ones(()), torch.tensor(limit))] == expected


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_in_place_goes_from_start_to_stop(compiled):
    def body(total, x, factor, changed):
        changed["seen"].index_copy_(0, total[None].long(), x[None])
        return total + 1, (factor * x, x + 1)

    def some(total, xs, changed, factor, start, stop):
        return scan_in_place(body, total, xs, changed, constants=(factor,), start=start, stop=stop)

    compiling.configure(compile=compiled)
    program = Compiled(some, "some")
    xs, changed, factor = torch.arange(1.0, 6.0), {"seen": torch.zeros(4)}, torch.tensor(3.0)
    total = torch.zeros(())
    for start, stop, expected in ((0, 1, [3.0]), (1, 4, [6.0, 9.0, 12.0])):
        total, outputs = program(total, xs, changed, factor, *map(torch.tensor, (start, stop)))
        times, plus = (output[start:stop].tolist() for output in outputs)
        assert times == expected and plus == [x / 3.0 + 1.0 for x in expected]
    assert total.item() == 4.0 and changed["seen"].tolist() == [1.0, 2.0, 3.0, 4.0]
    if compiled:
        assert len(program._programs) == 1


def test_reading_what_a_loop_writes_is_refused():
    def late(xs, changed, start, stop):
        def body(total, x, changed):
            return total + x, changed.add_(x)

        total, sums = scan_in_place(body, xs[0], xs, changed, constants=(), start=start, stop=stop)
        return total, sums.sum()

    compiling.configure(compile=True)
    with pytest.raises(RuntimeError, match="reads what a loop"):
        Compiled(late, "late")(torch.arange(3.0), torch.zeros(()), torch.tensor(0), torch.tensor(3))


def test_a_loop_that_closes_over_a_programs_tensor_is_refused():
    def closing(factor, xs):
        return scan(lambda carry, x: (factor * carry + x, carry), xs[0], xs)

    compiling.configure(compile=True)
    with pytest.raises(RuntimeError, match="constants"):
        Compiled(closing, "closing")(torch.ones(()), torch.arange(3.0))


@pytest.mark.parametrize("compiled", [False, True])
def test_loops_of_one_shape_keep_apart(compiled):
    def twice(xs):
        up = scan(lambda c, x: (c + x, (c, x)), xs[0], xs)
        return up, scan(lambda c, x: (c + x, (c, 2 * x)), xs[1], xs, reverse=True)

    compiling.configure(compile=compiled)
    (up, (before, same)), (down, (after, double)) = Compiled(twice, "twice")(torch.arange(1.0, 4.0))
    assert [up.item(), down.item()] == [7.0, 8.0]
    assert before.tolist() == [1.0, 2.0, 4.0] and same.tolist() == [1.0, 2.0, 3.0]
    assert after.tolist() == [7.0, 5.0, 2.0] and double.tolist() == [2.0, 4.0, 6.0]


def test_scanning_backwards_keeps_the_inputs_order():
    last, before = scan(lambda c, x: (c + x, c), torch.zeros(()), torch.arange(4.0), reverse=True)
    assert last.item() == 6.0 and before.tolist() == [6.0, 5.0, 3.0, 0.0]


def test_a_program_lays_a_tensor_out_as_another():
    def outer(x, like):
        product = x[:, None] * x
        return product, in_layout_of(product, like)

    compiling.configure(compile=True)
    x, like = torch.arange(3.0), torch.zeros(3, 3).T
    free, laid = Compiled(outer, "outer")(x, like)
    assert free.stride() == (3, 1) and laid.stride() == (1, 3)
    assert torch.equal(free, laid) and torch.equal(laid, torch.outer(x, x))


def test_off_means_the_function_itself():
    compiling.configure(compile=False)
    assert Compiled(cumulative, "test").program() is cumulative


def test_compilation_is_announced_once_a_shape(capsys):
    compiling.configure(compile=True)
    double = Compiled(lambda x: 2 * x, "doubling")
    for size in (3, 3, 4):
        assert double(torch.ones(size)).tolist() == [2.0] * size
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if line.startswith("orla: doubling: compiled")]) == 2


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        assert compiling.configure(compile=False, device="cuda").type == "cuda"
    else:
        with pytest.raises(OrlaError, match="set it to 'cpu'"):
            compiling.configure(device="cuda")


def test_without_a_compiler_the_loops_run_and_say_so(tmp_path):
    program = """
import torch
from orla.programs import compiling
for _ in range(2):
    compiling.configure()
double = compiling.Compiled(lambda x: 2 * x, "doubling")
print(double(torch.ones(2)).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": str(tmp_path), "CXX": str(tmp_path / "none"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "[2.0, 2.0]\n", done.stderr
    assert done.stderr.count("no C++ compiler found") == 1
    assert "doubling" not in done.stderr
