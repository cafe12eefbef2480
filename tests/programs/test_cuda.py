"""On a CUDA device every pair of parts gives the CPU's numbers; skipped where there is none."""

import numpy as np
import pytest
import torch
from harness import (
    LEARNED,
    NETWORKS,
    RATES,
    SEGMENT,
    STEPS,
    WATCHING,
    adapt,
    in_full,
    make_learner,
    make_loop,
    make_optimizer,
    make_part,
    networks,
    ran,
    stream,
)

from orla import catalogue
from orla.programs import compiling, traced_loops

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture(scope="module", autouse=True)
def cuda(eager):
    """The device, configured as a job configures it."""
    return compiling.configure(device="cuda")


def lively(kind="rnn"):
    """The parameters that `harness.ran` starts from."""
    return networks(NETWORKS[kind][0], models=3)


def on_cuda(loop, kind="rnn"):
    """The run of `harness.ran` on the device: parameters, rates and stream are given there."""
    params = {n: p.cuda() for n, p in lively(kind).items()}
    X, Y = (t.cuda() for t in stream(STEPS))
    return adapt(loop, params, RATES.cuda(), X, Y, snapshots=[SEGMENT, STEPS])


def assert_same_numbers(there, here):
    """Both runs have the same errors, weights and series to rounding."""
    np.testing.assert_allclose(there.errors, here.errors, rtol=1e-9, atol=1e-11)
    for name, p in here.state.params.items():
        assert there.state.params[name].is_cuda
        torch.testing.assert_close(there.state.params[name].cpu(), p, rtol=1e-9, atol=1e-11)
    assert there.series.keys() == here.series.keys()
    for name, values in here.series.items():
        np.testing.assert_allclose(there.series[name], values, 1e-6, 1e-9, err_msg=name)


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED))
def test_a_pair_of_parts_gives_the_numbers_of_the_cpu_and_the_same_bits_traced(
    kind, name, monkeypatch
):
    there = on_cuda(make_loop(name, kind), kind)
    monkeypatch.setattr(traced_loops, "STEPS_AS_WRITTEN", 0)
    again = on_cuda(make_loop(name, kind), kind)
    assert_same_numbers(there, ran(kind, name))
    for n, p in there.state.params.items():
        assert torch.equal(again.state.params[n], p)


@pytest.mark.parametrize("optimizer", list(catalogue.parts("optimizer")))
def test_every_optimizer_gives_the_numbers_of_the_cpu(optimizer):
    loop = make_loop("immediate", "rnn", make_optimizer(optimizer))
    assert_same_numbers(on_cuda(loop), adapt(loop, lively(), RATES, *stream(STEPS)))


@pytest.mark.parametrize(("kind", "name"), WATCHING)
def test_every_probe_and_intervention_gives_the_numbers_of_the_cpu(kind, name):
    observers = {"present": make_learner("immediate", NETWORKS["rnn"][0])}
    loop = make_loop("rtrl", "rnn", observers=observers, **{f"{kind}s": [make_part(kind, name)]})
    assert_same_numbers(on_cuda(loop), adapt(loop, lively(), RATES, *stream(STEPS)))
