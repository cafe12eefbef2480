"""Block-GRU + MLP against the same in NumPy, with one large matrix in place of the blocks."""

import numpy as np
import pytest
import torch
from harness import N_IN, begun, built, stream, trajectory

HIDDEN, UNITS = 12, 4


def network(**options):
    return built("block_gru", **{"hidden": HIDDEN, "blocks": 3, "units": UNITS} | options)


def silu(v):
    return v / (1 + np.exp(-v))


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def dense(v, W, b, scale, eps=1e-4):
    v = W @ v + b
    return silu(v / np.sqrt(np.mean(v**2) + eps) * scale)


def diagonal(blocks):
    """The matrix that has these blocks on its diagonal, and zeros elsewhere."""
    g, rows, columns = blocks.shape
    whole = np.zeros((g * rows, g * columns))
    for k, block in enumerate(blocks):
        whole[k * rows : (k + 1) * rows, k * columns : (k + 1) * columns] = block
    return whole


def by_hand(params, X, mlp, eps=1e-4, bias=-1.0, gates=("reset", "cand", "update")):
    """What the readout sees, and h, after each step."""
    p, h, found = {name: v.numpy() for name, v in params.items()}, np.zeros(HIDDEN), []
    g, blocks = {}, len(p["W_hh"])
    of_block = p["W_g"].reshape(blocks, 3, HIDDEN // blocks, -1)
    biases = p["b_g"].reshape(blocks, 3, -1)
    for x in X.numpy():
        e = np.concatenate(
            [
                dense(h, p["W_he"], p["b_he"], p["scale_he"], eps),
                dense(x, p["W_ih"], p["b_ih"], p["scale_ih"], eps),
            ]
        )
        joined = np.concatenate([diagonal(p["W_hh"]), p["W_eh"].reshape(HIDDEN, -1)], 1)
        u = dense(np.concatenate([h, e]), joined, p["b_h"], p["scale_h"], eps)
        for k, gate in enumerate(gates):
            g[gate] = diagonal(of_block[:, k]) @ u + biases[:, k].reshape(-1)
        cand, update = np.tanh(sigmoid(g["reset"]) * g["cand"]), sigmoid(g["update"] + bias)
        h = update * cand + (1 - update) * h
        m = h
        for k in range(mlp):
            m = dense(m, *(p[f"{name}.{k}"] for name in ("W_m", "b_m", "scale_m")), eps)
        found.append(np.concatenate([m, h]) if mlp else h)
    return np.array(found)


@pytest.mark.parametrize("mlp", [0, 2])
@pytest.mark.parametrize("blocks", [1, 3, 12])
def test_it_is_its_equations(blocks, mlp):
    made, X = network(blocks=blocks, mlp=mlp), stream(30)[0]
    params = begun(made)
    ours = trajectory(made, params, X).numpy()
    assert ours.shape[1] == made.state_size == HIDDEN * (1 + (mlp > 0))
    theirs = by_hand(params, X, mlp)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    assert np.abs(np.diff(ours, axis=0)).max() > 0.1


@pytest.mark.parametrize(
    "wrong", [{"eps": 1e-2}, {"bias": 0.0}, {"gates": ("cand", "reset", "update")}]
)
def test_other_equations_are_noticed(wrong):
    made, X = network(), stream(30)[0]
    params = begun(made)
    ours, theirs = trajectory(made, params, X).numpy(), by_hand(params, X, 2, **wrong)
    assert np.abs(ours - theirs).max() > 1e-3


def test_it_begins_as_the_public_code():
    made = network(hidden=96, blocks=8, units=60, mlp=1)
    params = made.init(torch.Generator().manual_seed(0))
    deviation = {  # 1 / sqrt(inputs); of a block matrix those of all blocks together
        "W_he": 96**-0.5,
        "W_ih": N_IN**-0.5,
        "W_hh": (96 + 8 * 120) ** -0.5,
        "W_eh": (96 + 8 * 120) ** -0.5,
        "W_g": 96**-0.5,
        "W_m.0": 96**-0.5,
    }
    for name, p in params.items():
        if name in deviation:
            assert float(p.std()) == pytest.approx(deviation[name], rel=0.1), name
            assert float(p.abs().max()) <= 2 * 1.1368 * deviation[name]
        elif not name.endswith("_out"):
            assert (p == float(name.startswith("scale"))).all(), name
    bound = 96**-0.5
    assert 0.9 * bound < float(params["W_out"].abs().max()) <= bound
