"""Loops whose bodies are traced: the bits of the loops as they are written."""

from collections import Counter

import numpy as np
import pytest
import torch
from harness import (
    NETWORKS,
    PAIRS,
    RATES,
    STEPS,
    WATCHING,
    adapt,
    everything,
    in_full,
    make_learner,
    make_loop,
    make_optimizer,
    make_part,
    networks,
    ran,
    same,
    stream,
)

from orla import catalogue
from orla.optimizers.sgd import SGD
from orla.programs import traced_loops
from orla.programs.compiling import Compiled
from orla.programs.scan import scan, while_loop


@pytest.fixture
def trace_counts(monkeypatch):
    """Trace at once: how many bodies were traced, True, and how many could not be, False."""
    trace, counts = traced_loops._trace_body, Counter()

    def counted(body, trees):
        made = trace(body, trees)
        counts[made is not None] += 1
        return made

    monkeypatch.setattr(traced_loops, "STEPS_AS_WRITTEN", 0)
    monkeypatch.setattr(traced_loops, "_trace_body", counted)
    return counts


def run(make_one, kind="rnn"):
    return adapt(make_one(), networks(NETWORKS[kind][0], models=3), RATES, *stream(STEPS))


def assert_same_bits(ours, written):
    assert same(everything(ours.state), everything(written.state))
    assert np.array_equal(ours.errors, written.errors)
    assert ours.series.keys() == written.series.keys()
    for name, values in written.series.items():
        np.testing.assert_array_equal(ours.series[name], values, err_msg=name)


@pytest.mark.parametrize(("kind", "name"), in_full(PAIRS, PAIRS[::3]))
def test_a_traced_pair_of_parts_has_the_bits_of_the_loop_as_written(kind, name, trace_counts):
    written = ran(kind, name)
    assert_same_bits(run(lambda: make_loop(name, kind), kind), written)
    assert trace_counts[True]


def with_every(kind):
    observers = {"present": make_learner("immediate", NETWORKS["rnn"][0])}
    parts = {f"{kind}s": [make_part(*part) for part in WATCHING if part[0] == kind]}
    return lambda: make_loop("trace", "rnn", SGD(), observers=observers, **parts)


FURTHER = {kind: with_every(kind) for kind in ("probe", "intervention")} | {
    name: lambda rule=name: make_loop("immediate", "rnn", make_optimizer(rule))
    for name in catalogue.parts("optimizer")
    if name != "adam"  # that of the pairs
}


@pytest.mark.parametrize("name", FURTHER)
def test_traced_optimizers_probes_and_interventions_have_the_bits_of_the_loop(
    name, trace_counts, monkeypatch
):
    ours = run(FURTHER[name])
    assert trace_counts[True]
    monkeypatch.setattr(traced_loops, "STEPS_AS_WRITTEN", STEPS)
    assert_same_bits(ours, run(FURTHER[name]))


def test_a_loop_traced_with_kernels_has_the_bits_of_the_loop_as_written(
    with_kernels, trace_counts, monkeypatch
):
    ours = run(lambda: make_loop("rtrl", "rnn"))
    assert trace_counts == {True: 1}
    monkeypatch.setattr(traced_loops, "STEPS_AS_WRITTEN", STEPS)
    assert_same_bits(ours, run(lambda: make_loop("rtrl", "rnn")))


def looped(body):
    """A function of one loop over numbers, which may be traced."""
    return Compiled(
        lambda start, xs, *constants: scan(body, start, xs, constants=constants), "sums"
    )


def test_a_body_is_traced_after_so_many_steps_and_then_not_called(monkeypatch):
    calls = []

    def body(carry, x):
        calls.append(x)
        return carry + x, 2 * carry

    program, xs = looped(body), torch.arange(1.0, 5.0)
    monkeypatch.setattr(traced_loops, "STEPS_AS_WRITTEN", 6)
    for count in (4, 7, 7):  # two more steps as written, and one that is traced
        last, doubled = program(torch.zeros(()), xs)
        assert last.item() == 10.0 and doubled.tolist() == [0.0, 2.0, 6.0, 12.0]
        assert len(calls) == count
    program(torch.zeros(2), xs)  # of another shape: its steps are counted by themselves
    assert len(calls) == 11


def test_each_loop_of_a_function_has_its_own_traced_body(trace_counts):
    def both(start, xs):
        first = scan(lambda c, x: (c + x, c), start, xs)
        return first, scan(lambda c, x: (c * x, c), start, xs, reverse=True)

    program = Compiled(both, "sums and products")
    for _ in range(2):
        (total, _), (product, before) = program(torch.ones(()), torch.arange(1.0, 5.0))
        assert [total.item(), product.item()] == [11.0, 24.0]
        assert before.tolist() == [24.0, 12.0, 4.0, 1.0]
    assert trace_counts == {True: 2}


def test_another_number_of_loops_mixes_no_traced_bodies_up(trace_counts):
    def last_of_each(start, rows):
        factor = len(rows)
        results = [scan(lambda c, x: (factor * c + x, c), start, row)[0] for row in rows]
        return torch.stack(results) + scan(lambda c, x: (c - x, c), start, rows[0])[0]

    program, row = Compiled(last_of_each, "rows"), torch.arange(1.0, 5.0)
    for count, expected in ((1, 0.0), (2, 16.0), (1, 0.0), (2, 16.0)):
        assert program(torch.zeros(()), row.expand(count, 4)).tolist() == [expected] * count


def test_loops_within_a_body_are_traced_with_it(trace_counts):
    def body(carry, x):
        within, _ = scan(lambda c, y: (c + y, c), carry, x)
        halved = while_loop(lambda c: c > 10, lambda c: (c / 2,), (within,))
        return halved[0], within

    last, sums = looped(body)(torch.zeros(()), torch.arange(6.0).view(3, 2))
    assert sums.tolist() == [1.0, 6.0, 15.0] and last.item() == 7.5
    assert trace_counts == {True: 1}


def test_what_cannot_be_traced_runs_as_it_is_written(trace_counts):
    def growing(carry, x):
        return torch.cat([carry, x[None]]), carry.sum()

    def looking(carry, x):
        return (carry + x if x > 2 else carry), carry

    xs = torch.arange(1.0, 5.0)
    grown, sums = looped(growing)(torch.zeros(1), xs)
    assert grown.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and sums.tolist() == [0.0, 1.0, 3.0, 6.0]
    last, _ = looped(looking)(torch.zeros(()), xs)
    assert last.item() == 7.0
    assert trace_counts[False] and not trace_counts[True]


def test_a_tensor_that_is_no_argument_is_read_anew_in_each_call(trace_counts):
    factor = torch.ones(())
    program = looped(lambda carry, x: (carry + factor * x, carry))
    assert program(torch.zeros(()), torch.arange(4.0))[0].item() == 6.0
    factor = torch.full((), 2.0)
    assert program(torch.zeros(()), torch.arange(4.0))[0].item() == 12.0
    assert trace_counts == {False: 1}


def test_a_carry_may_start_in_another_layout_than_the_steps_give_it(trace_counts):
    """As the initial state of all models is, which is one row in memory."""
    program = looped(lambda carry, x: (carry.clone(memory_format=torch.contiguous_format) + x, x))
    last, _ = program(torch.zeros(1).expand(3), torch.arange(4.0))
    assert last.tolist() == [6.0, 6.0, 6.0]
    assert trace_counts == {False: 1, True: 1}


def test_a_loop_that_fails_leaves_the_next_call_as_it_was(trace_counts):
    def body(carry, x):
        if carry.shape == (2,):
            raise ValueError("two")
        return carry + x, carry

    program = looped(body)
    with pytest.raises(ValueError, match="two"):
        program(torch.zeros(2), torch.arange(4.0))
    assert program(torch.zeros(()), torch.arange(4.0))[0].item() == 6.0
    assert traced_loops._active == [None]
