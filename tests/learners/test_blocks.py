"""The kernels against the same products in PyTorch, and when they are chosen."""

import itertools

import pytest
import torch
from harness import NETWORKS, distance, in_full, networks, stream, watch
from learners.others import Meeting
from torch.utils import _pytree as pytree

from orla.architectures.lstm import LSTM
from orla.architectures.retnet import RetNet
from orla.architectures.rnn import RNN
from orla.derivatives import derivatives
from orla.learners.blocks import KernelBlocks, PulledBlocks, RetentionBlocks, fastest_blocks
from orla.learners.rtrl import RTRL
from orla.programs import kernels

# Widths of a vector register, a tile and a panel: below, at and beyond, with something left over.
SIZES = [
    (RNN, 1, 1),
    (RNN, 8, 15),
    (RNN, 23, 40),
    (RNN, 32, 31),
    (RNN, 40, 30),
    (LSTM, 3, 2),
    (LSTM, 17, 9),
    (LSTM, 24, 20),
]
CLOSE = {torch.float64: 1e-11, torch.float32: 3e-4}
STEPS = 12


def adapted(architecture, block, dtype=torch.float64, rate=0.02):
    X, Y = stream(STEPS, n_in=architecture.n_in, dtype=dtype)
    params = networks(architecture, models=2, scale=1.2, dtype=dtype)
    return watch(RTRL(architecture, block=block), params, X, Y, rate=rate)


GRID = [*itertools.product(SIZES, (1, 5), CLOSE)]
# Each size with each block, in one precision after the other.
SOME = [c for i, c in enumerate(GRID) if c[2] is [*CLOSE][(i // 2 + i // 4) % 2]]


@pytest.mark.parametrize(("size", "block", "dtype"), in_full(GRID, SOME))
def test_kernels_equal_pulled_blocks(size, block, dtype, request):
    base, *sizes = size
    architecture = base(*sizes, 2)
    pulled = adapted(architecture, block, dtype)
    assert "on_gates" not in RTRL(architecture).init(networks(architecture))["slots"]
    request.getfixturevalue("with_kernels")
    assert "on_gates" in RTRL(architecture).init(networks(architecture))["slots"]
    by_kernel = adapted(architecture, block, dtype)
    for model in range(2):
        ours, theirs = by_kernel.model(model)[0], pulled.model(model)[0]
        assert ours[0]["W_hh"].dtype == dtype
        assert distance(ours, theirs) < CLOSE[dtype]


def test_more_threads_change_no_bit(with_kernels):
    architecture = RNN(40, 30, 2)
    one = adapted(architecture, 5)
    torch.set_num_threads(3)
    try:
        three = adapted(architecture, 5)
    finally:
        torch.set_num_threads(1)
    for a, b in zip(one.gradients, three.gradients, strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_models_company_changes_no_bit(with_kernels):
    architecture = LSTM(17, 9, 2)
    X, Y = stream(STEPS, n_in=9)
    params = networks(architecture, models=3)
    last = {name: p[2:] for name, p in params.items()}
    together, alone = (
        watch(RTRL(architecture, block=5), p, X, Y, rate=0.02) for p in (params, last)
    )
    for a, b in zip(together.model(2)[0], alone.model(0)[0], strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_nan_weight_shows_in_its_own_models_gradient_alone(with_kernels):
    architecture = RNN(8, 3, 2)
    X, Y = stream(STEPS)
    params = networks(architecture)
    params["W_hh"][1, 2, 3] = torch.nan
    watched = watch(RTRL(architecture, block=5), params, X, Y)
    assert watched.gradients[-1]["W_hh"][1].isnan().any()
    assert watched.gradients[-1]["W_hh"][0].isfinite().all()


@pytest.mark.parametrize(
    "architecture", [*(network for network, _ in NETWORKS.values()), Meeting(5, 3, 2)]
)
def test_kernels_are_chosen_where_they_serve(architecture, monkeypatch):
    params = networks(architecture)
    usual = RetentionBlocks if isinstance(architecture, RetNet) else PulledBlocks
    assert type(fastest_blocks(derivatives(architecture), params)) is usual
    monkeypatch.setattr("orla.programs.compiling.enabled", lambda: True)
    alone = getattr(architecture, "units_independent", False)
    if alone:
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "_library", lambda: None)
            assert type(fastest_blocks(derivatives(architecture), params)) is PulledBlocks
    chosen = type(fastest_blocks(derivatives(architecture), params))
    assert chosen is (KernelBlocks if alone else usual)
    half = pytree.tree_map(lambda p: p.half(), params)
    elsewhere = pytree.tree_map(lambda p: p.to("meta"), params)
    for other in (half, elsewhere):
        assert type(fastest_blocks(derivatives(architecture), other)) is usual


# What the kernels are called with instead of what they expect, and what the refusal names.
WRONG = {
    "P laid out otherwise": ("P", lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)),
    "P of another precision": ("P", lambda t: t.float()),
    "a slot of another precision": ("around", lambda t: t.float()),
    "a slot elsewhere": ("W_hh", lambda t: t.to("meta")),
    "a slot of fewer steps": ("inputs", lambda t: t[1:].clone()),
    "a slot of more units": ("on_gates", lambda t: torch.cat([t, t], -1)),
    "a cotangent of another precision": ("cotangent", lambda t: t.float()),
    "a cotangent of more models": ("cotangent", lambda t: torch.cat([t, t])),
    "a count of another kind": ("stored", lambda t: t.int()),
}


@pytest.mark.parametrize("case", WRONG)
def test_kernels_refuse_what_they_would_read_as_something_else(case, with_kernels):
    architecture = RNN(4, 3, 2)
    learner, params = RTRL(architecture, block=2), networks(architecture)
    given = {"P": learner.buffers(params)["sensitivity"]["P"], "stored": torch.tensor(1)}
    given |= learner.init(params)["slots"]
    given["cotangent"] = torch.ones(4, 2, dtype=torch.float64).T

    def call(kernel, P, stored, cotangent, **slots):
        return kernel(P, slots, *((stored, cotangent) if kernel is kernels.block_gradient else ()))

    call(kernels.block_gradient, **given)
    name, change = WRONG[case]
    wrong = given | {name: change(given[name])}
    named = "W_hh" if case == "P of another precision" else name  # the first that differs from P
    if case != "a slot elsewhere":  # to which PyTorch answers without the kernels
        with pytest.raises(ValueError, match=f"kernels: {named} "):
            call(kernels.block_gradient, **wrong)
    if name not in ("cotangent", "stored"):
        with pytest.raises(ValueError, match=f"kernels: {named} "):
            call(kernels.advance_sensitivity_over_block, **wrong)
