"""Compiled loops against the eager ones, and a model's independence of its company to the last bit.

A model's bits do not depend on its place in a batch nor on its neighbours. They may depend on the
batch's size: each size is a program of its own, which need not add in the same order. Each
compilation costs seconds, so that two conditions stand for all: loops of windows and of steps,
derivatives with structure and without, optimizers that have sums over others, observers,
interventions and probes together. There are more with `-m full`.
"""

import subprocess
import sys

import numpy as np
import pytest
import torch
from harness import RATES, cumulative, networks
from programs.support import learner, loop, network, run, stand_in_for_the_compiler, stream_tensors

from orla import catalogue
from orla.engine import forward
from orla.errors import OrlaError
from orla.programs import compiling
from orla.programs.compiling import Compiled
from orla.programs.scan import match_layout_in_program, materialize, scan, scan_in_place, while_loop
from orla.programs.tracing import trace
from orla.study.batches import models_at


def watched(optimizer):
    """A trace that is rescaled to exact RTRL's norm and compared with it."""
    return loop(
        learner("trace"),
        optimizer,
        ("update_ratio", {"kind": "past_gradient", "full": "exact"}),
        observers={"exact": learner(BLOCKS)},
        interventions=[catalogue.make("intervention", {"kind": "match-norm", "observer": "exact"})],
    )


BLOCKS = {"kind": "rtrl", "block": 8}
CONDITIONS = {
    "another tbptt-8-4 lars": lambda: loop(learner("tbptt-8-4", "another"), "lars"),
    "rnn trace adam, watched": lambda: watched("adam"),
}
FURTHER = {
    "another immediate adafactor": lambda: loop(learner("immediate", "another"), "adafactor"),
    "lstm tbptt-8-4 lars": lambda: loop(learner("tbptt-8-4", "lstm"), "lars"),
    "rnn trace muon, watched": lambda: watched("muon"),
    # Units of a block are two: with one unit a block, a fault of the compiler was not seen.
    "block_gru immediate gradnorm": lambda: loop(learner("immediate", "block_gru", 10), "gradnorm"),
    "another rtrl gradnorm": lambda: loop(learner(BLOCKS, "another"), "gradnorm"),
    "lstm rtrl adafactor": lambda: loop(learner(BLOCKS, "lstm"), "adafactor"),
    "rnn immediate adam": lambda: loop(learner("immediate"), "adam"),
    "rnn tbptt-24-24 adam": lambda: loop(learner("tbptt-24-24"), "adam"),
    "rnn immediate muon": lambda: loop(learner("immediate"), "muon"),
    "lru immediate adam": lambda: loop(learner("immediate", "lru"), "adam"),
}


@pytest.fixture(autouse=True)
def eager_again():
    yield
    compiling.configure(compile=False)


@pytest.fixture(
    scope="module",
    params=[*CONDITIONS, *(pytest.param(name, marks=pytest.mark.full) for name in FURTHER)],
)
def pair(request):
    """The eager run of a condition, the compiled one, and the compiled loop."""
    make = (CONDITIONS | FURTHER)[request.param]
    compiling.configure(compile=False)
    eager = run(make())
    compiling.configure(compile=True)
    made = make()
    return eager, run(made), made


def test_compiled_equals_eager_to_rounding(pair):
    eager, fast, made = pair
    before = networks(made.learner.architecture, 3)
    for name, p in eager.state.params.items():
        torch.testing.assert_close(fast.state.params[name], p, rtol=1e-9, atol=1e-11)
    assert not torch.equal(fast.state.params["W_out"], before["W_out"])
    np.testing.assert_allclose(fast.errors, eager.errors, rtol=1e-9)
    assert eager.series
    for name, series in eager.series.items():
        # At the first update there is no past: its cosine is that of roundings.
        late = slice(1 if name.startswith("past") else 0, None)
        np.testing.assert_allclose(fast.series[name][:, late], series[:, late], rtol=1e-6)


def test_later_segments_and_batches_compile_nothing_again(pair):
    _, _, made = pair
    compiling.configure(compile=True)
    run(made)
    assert len(made.driver.program._programs) == 1
    if made.learner.loops:
        assert len(made.driver.update_program._programs) == 1


def test_a_models_place_in_its_batch_changes_no_bit(pair):
    _, fast, made = pair
    compiling.configure(compile=True)
    order = torch.tensor([2, 0, 0])
    other = run(made, models_at(networks(made.learner.architecture, 3), order), RATES[order])
    # Exact RTRL of a network without structure goes through BLAS, which may round by where in
    # memory a model's matrices lie.
    rounding = 1e-12 if made.learner.architecture == network("another") else 0.0
    for name, p in fast.state.params.items():
        torch.testing.assert_close(other.state.params[name], p[order], rtol=rounding, atol=rounding)
    np.testing.assert_allclose(other.errors, fast.errors[order.numpy()], rtol=rounding)
    assert not torch.equal(fast.state.params["W_out"][0], fast.state.params["W_out"][2])


def test_a_diverging_neighbour_changes_no_bit(pair):
    _, fast, made = pair
    compiling.configure(compile=True)
    params = networks(made.learner.architecture, 3)
    params["W_out"][1] = torch.nan
    other = run(made, params)
    assert np.isnan(other.errors[1]).all()
    for name, p in fast.state.params.items():
        assert torch.equal(other.state.params[name][[0, 2]], p[[0, 2]])


def test_optimizers_share_gradient_programs_and_learners_share_update_programs(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path))
    graphs = stand_in_for_the_compiler(monkeypatch)
    compiling.configure(compile=True)
    window, cut = learner("tbptt-24-24"), learner("immediate-24")
    for driver, rule in ((window, "adam"), (window, "sgd"), (cut, "adam")):
        run(loop(driver, rule, probes=()))
    assert len(list((tmp_path / "programs").glob("*.program"))) == len(graphs) == 4


def test_forward_runs_compile_and_a_kept_program_computes_the_same(tmp_path, monkeypatch, capsys):
    architecture = network("lstm")
    params, given = networks(architecture, 3), stream_tensors(250)
    eager = forward.outputs_of(architecture, params, None, given)
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path))
    compiling.configure(compile=True)
    for said in ("compiled in", "compiled before, loaded in"):
        forward._compiled_forward.cache_clear()
        fast = forward.outputs_of(architecture, params, None, given)
        torch.testing.assert_close(fast, eager, rtol=1e-10, atol=1e-12)
        assert f"LSTM, forward: {said}" in capsys.readouterr().err
    assert len(list((tmp_path / "programs").glob("*.program"))) == 1


def of_every_kind(xs, state, limit, start, stop):
    """Loops of every kind, two of one shape among them, and tensors of every layout."""

    def in_place(state, x, limit):
        seen = state["seen"].index_copy(0, state["total"][None].long(), x[None])
        return {"total": state["total"] + 1, "seen": seen}, (limit * x, x + 1)

    def more(x, n, limit):
        return x < limit

    product = xs[:, None] * xs
    zeros = torch._efficientzerotensor((3,), dtype=xs.dtype)  # it has no memory
    return {
        "doubled": cumulative(2.0)(torch.ones(()), xs),
        "tripled": cumulative(3.0)(torch.ones(()), xs),
        "up": scan(lambda c, x: (c + x, (c, x)), xs[0], xs),
        "down": scan(lambda c, x: (c + x, (c, 2 * x)), xs[1], xs, reverse=True),
        "powers": while_loop(
            more, lambda x, n, limit: (2 * x, n + 1), (xs[0], 0 * xs[0]), (limit,)
        ),
        "in place": scan_in_place(in_place, state, xs, constants=(limit,), start=start, stop=stop),
        "laid": (product, match_layout_in_program(product, torch.zeros(len(xs), len(xs)).T)),
        "stored": torch.func.vmap(lambda x: materialize(torch.exp(x))[:, None] * x)(xs.view(2, 2)),
        "zeros": torch.cat([xs, zeros.expand(3)]) + 1,
    }


@pytest.mark.parametrize("compiled", [False, True])
def test_loops_and_layouts_give_the_same_numbers_compiled_and_eager(compiled):
    compiling.configure(compile=compiled)
    program = Compiled(of_every_kind, "every kind")
    assert compiled or program.program() == program._run_uncompiled
    xs, state = torch.arange(1.0, 5.0), {"seen": torch.zeros(4), "total": torch.zeros(())}
    for start, stop, limit, powers in ((0, 1, 5.0, [8.0, 3.0]), (1, 4, 0.0, [1.0, 0.0])):
        ends = torch.tensor(start), torch.tensor(stop)
        out = program(xs, state, torch.tensor(limit), *ends)
        assert [t.item() for t in out["powers"]] == powers
        end, outputs = out["in place"]
        times, plus = (output[start:stop].tolist() for output in outputs)
        assert end.item() == stop
        assert times == [limit * x for x in range(start + 1, stop + 1)]
        assert plus == [x + 1.0 for x in range(start + 1, stop + 1)]
    assert state["total"].item() == 4.0 and state["seen"].tolist() == [1.0, 2.0, 3.0, 4.0]
    for name, factor in (("doubled", 2.0), ("tripled", 3.0)):
        expected = [1.0]
        for x in xs.tolist():
            expected.append(factor * expected[-1] + x)
        last, before = out[name]
        assert before.tolist() == expected[:-1] and last.item() == expected[-1]
    (up, (before, same)), (down, (after, double)) = out["up"], out["down"]
    assert [up.item(), down.item()] == [11.0, 12.0]
    assert before.tolist() == [1.0, 2.0, 4.0, 7.0] and same.tolist() == xs.tolist()
    assert after.tolist() == [11.0, 9.0, 6.0, 2.0] and double.tolist() == [2.0, 4.0, 6.0, 8.0]
    free, laid = out["laid"]
    assert free.stride() == (4, 1) and laid.stride() == ((1, 4) if compiled else (4, 1))
    assert torch.equal(free, laid) and torch.equal(laid, torch.outer(xs, xs))
    theirs = torch.stack([torch.outer(row.exp(), row) for row in xs.view(2, 2)])
    torch.testing.assert_close(out["stored"], theirs)
    assert out["zeros"].tolist() == [2.0, 3.0, 4.0, 5.0, 1.0, 1.0, 1.0]
    assert len(program._programs) == compiled and materialize(xs) is xs


def test_a_state_may_change_places():
    """Each number of the state becomes another one of it: none may be overwritten before."""

    def turned(xs, state, start, stop):
        def body(state, x):
            return {"a": state["b"], "b": state["c"], "c": state["a"]}, x

        return scan_in_place(body, state, xs, start=start, stop=stop)

    xs, ends = torch.arange(4.0), (torch.tensor(0), torch.tensor(4))
    state = {name: torch.tensor(float(i)) for i, name in enumerate("abc")}
    turned(xs, state, *ends)
    assert [t.item() for t in state.values()] == [1.0, 2.0, 0.0]
    graph, _ = trace(turned, (xs, state, *ends))
    graph(xs, *state.values(), *ends)
    assert [t.item() for t in state.values()] == [2.0, 0.0, 1.0]


def test_reading_what_a_loop_writes_is_refused():
    def late(xs, total, start, stop):
        def body(total, x):
            return total + x, x

        end, sums = scan_in_place(body, total, xs, start=start, stop=stop)
        return end, sums.sum()

    given = torch.arange(3.0), torch.zeros(()), torch.tensor(0), torch.tensor(3)
    with pytest.raises(RuntimeError, match="reads what a loop"):
        trace(late, given)
    with pytest.raises(RuntimeError, match="drops a loop"):
        trace(lambda *given: late(*given)[1:], given)


def test_a_loop_that_closes_over_a_programs_tensor_is_refused():
    def closing(factor, xs):
        return scan(lambda carry, x: (factor * carry + x, carry), xs[0], xs)

    with pytest.raises(RuntimeError, match="constants"):
        trace(closing, (torch.ones(()), torch.arange(3.0)))


def test_a_program_computes_once_what_is_stored():
    def outer(x, stores=True):
        def one(x):
            y = torch.exp(x)
            return (materialize(y) if stores else y)[:, None] * y

        return torch.func.vmap(one)(x)

    x = torch.linspace(0, 1, 6).view(2, 3)
    marks = [
        sum("stride_order" in str(node.target) for node in trace(f, (x,))[0].graph.nodes)
        for f in (outer, lambda x: outer(x, stores=False))
    ]
    assert marks == [1, 0]


def test_compilation_is_announced_once_a_shape(capsys, monkeypatch):
    stand_in_for_the_compiler(monkeypatch)
    compiling.configure(compile=True)
    double = Compiled(lambda x: 2 * x, "doubling")
    for size in (3, 3, 4):
        assert double(torch.ones(size)).tolist() == [2.0] * size
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if line.startswith("orla: doubling: compiled")]) == 2


def test_the_stride_of_an_axis_of_one_entry_makes_no_program_of_its_own(monkeypatch, tmp_path):
    """It is that of what the tensor was cut from, of several models or of one."""
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path))
    graphs = stand_in_for_the_compiler(monkeypatch)
    compiling.configure(compile=True)
    cut = torch.arange(12.0).as_strided((1, 4), (7, 1))
    for given in (cut, torch.arange(4.0)[None]):
        double = Compiled(lambda x: 2 * x, "doubling", key_parts=())
        assert double(given).tolist() == [[0.0, 2.0, 4.0, 6.0]]
    assert len(graphs) == 1
    double(torch.ones(4, 1).T.as_strided((2, 2), (1, 2)))  # other places are another program
    assert len(graphs) == 2


def test_a_cuda_device_is_refused_where_there_is_none_and_runs_eagerly(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OrlaError, match="set it to 'cpu'"):
        compiling.configure(device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert compiling.configure(device="cuda:1") == torch.device("cuda:1")
    assert not compiling.enabled()


WITHOUT_COMPILER = """
import torch
from programs.support import learner, loop, run

from orla.programs import compiling


for _ in range(2):
    assert compiling.configure(compile=True).type == "cpu"
assert not compiling.enabled()
made = loop(learner("rtrl"))
fallen_back = run(made).state.params
compiling.configure(compile=False)
for name, p in run(made).state.params.items():
    assert torch.equal(fallen_back[name], p) and p.isfinite().all()
"""


def test_without_a_compiler_the_loops_run_eagerly_and_it_is_said_once(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER],
        env={
            "PATH": str(tmp_path),
            "CXX": str(tmp_path / "none"),
            "HOME": str(tmp_path),
            "PYTHONPATH": ":".join(p for p in sys.path if p),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "orla: no C++ compiler found: the loops run uncompiled, many times slower (install g++)"
    ]
