"""The numbers that networks begin with: ranges, rings, spectra and constants of their papers."""

import functools
import math

import numpy as np
import pytest
import torch
from harness import (
    N_IN,
    N_OUT,
    NETWORKS,
    SQUARED_ERROR,
    adapt,
    built,
    make_learner,
    make_optimizer,
    networks,
    stream,
)

from orla import catalogue
from orla.architectures.rnn import RNN, random_orthogonal_matrix
from orla.architectures.rwkv import RWKV
from orla.architectures.state_space import LRU, S4
from orla.engine.loop import Loop
from orla.study.batches import initial_parameters

spectral = functools.partial(built, "spectral_rnn")
singular = functools.partial(built, "singular_rnn")
fresh = functools.partial(initial_parameters, dtype=torch.float64)

# Parameters that every seed starts with the same values of, as their papers say.
NOT_DRAWN = {
    "rwkv": {"mu_r", "mu_k", "mu_v", "decay", "bonus"},
    "s4": {"log_A_real", "A_imag"},
    "singular_rnn": {"s_hh"},
    "block_gru": {"b_he", "b_ih", "b_h", "b_g", "b_m.0"}
    | {"scale_he", "scale_ih", "scale_h", "scale_m.0"},
    "transformer": {"b_in", "b_qv.0", "b_o.0", "b_1.0", "b_2.0", "scale", "shift"}
    | {"scale_1.0", "shift_1.0", "scale_2.0", "shift_2.0"},
}


def drawn(network):
    return network.init(torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_seed_is_the_same_network_in_each_precision_and_company(kind):
    network, _ = NETWORKS[kind]
    double = initial_parameters(network, [3], torch.float64)
    single = initial_parameters(network, [1, 3, 4], torch.float32)
    assert list(double) == list(network.shapes())
    for name, shape in network.shapes().items():
        assert double[name].shape == (1, *shape) and double[name].dtype == torch.float64
        assert torch.equal(double[name][0].float(), single[name][1])
        alike = name in NOT_DRAWN.get(kind, ())
        assert torch.equal(single[name][0], single[name][1]) == alike


def test_weights_are_uniform_by_the_units():
    for name, p in drawn(RNN(64, 40, 2)).items():
        p = p * math.sqrt(64)
        assert 0.8 < float(p.abs().max()) <= 1.0 or p.numel() < 4
        if name in ("W_ih", "W_hh"):
            assert abs(float(p.mean())) < 0.05 and abs(float(p.var()) - 1 / 3) < 0.02


def test_block_gru_begins_as_the_public_code():
    params = drawn(built("block_gru", hidden=96, blocks=8, units=60, mlp=1))
    # 1 / sqrt(inputs); of a block matrix those of all blocks together.
    joint = (96 + 8 * 120) ** -0.5
    deviation = dict.fromkeys(("W_he", "W_g", "W_m.0"), 96**-0.5)
    deviation |= {"W_ih": N_IN**-0.5, "W_hh": joint, "W_eh": joint}
    for name, p in params.items():
        if name in deviation:
            assert float(p.std()) == pytest.approx(deviation[name], rel=0.1), name
            assert float(p.abs().max()) <= 2 * 1.1368 * deviation[name]
        elif not name.endswith("_out"):
            assert (p == float(name.startswith("scale"))).all(), name
    assert 0.9 * 96**-0.5 < float(params["W_out"].abs().max()) <= 96**-0.5


def test_a_transformer_begins_as_torchs_linear_layers():
    params = drawn(built("transformer", hidden=48, heads=4, feedforward=2))
    for name, p in params.items():
        if p.dim() == 2:
            bound = p.shape[1] ** -0.5
            assert 0.9 * bound < float(p.abs().max()) <= bound, name
        elif name != "b_out":
            assert (p == float(name.startswith("scale"))).all(), name


def test_rwkv_begins_as_its_first_layer():
    params = drawn(RWKV(64, N_IN, N_OUT))
    decay, mu = params["decay"], params["mu_k"]
    assert decay[[0, -1, 21]].tolist() == [-5.0, 3.0, -5 + 8 * (21 / 63) ** 0.7]
    assert mu.tolist() == [unit / 64 for unit in range(64)]
    torch.testing.assert_close(params["mu_r"] ** 2, mu)
    thirds = [np.log(0.3) + shift for shift in (0.0, 0.5, -0.5)]
    np.testing.assert_allclose(params["bonus"][:6], 2 * thirds)
    assert RWKV(1, N_IN, N_OUT).init(torch.Generator())["decay"].isfinite().all()


def test_s4_starts_as_s4d_lin():
    params = drawn(S4(400, N_IN, N_OUT, modes=3))
    assert (params["log_A_real"].exp() - 0.5).abs().max() < 1e-15
    assert params["A_imag"][7].tolist() == [0.0, np.pi, 2 * np.pi]
    dt = params["log_dt"].exp()
    assert 0.001 <= float(dt.min()) < 0.0012 and 0.09 < float(dt.max()) <= 0.1
    assert abs(float(dt.log().mean()) - np.log(0.01)) < 0.2
    power = params["C_re"] ** 2 + params["C_im"] ** 2
    assert abs(float(power.mean()) - 1) < 0.1 and abs(float(params["D"].var()) - 1) < 0.2


def test_the_lru_starts_on_its_ring():
    network = LRU(1000, 4, N_OUT, r_min=0.5, r_max=0.9, max_phase=0.3)
    params = drawn(network)
    real, imaginary = network.decay(params)
    decay = real.numpy() + 1j * imaginary.numpy()
    size = abs(decay)
    assert 0.5 <= size.min() < 0.505 and 0.895 < size.max() <= 0.9
    assert abs((size**2).mean() - (0.25 + 0.81) / 2) < 0.01  # uniform in area
    assert 0 <= np.angle(decay).min() < 0.01 and 0.29 < np.angle(decay).max() <= 0.3
    np.testing.assert_allclose(params["gamma"].exp() ** 2, 1 - size**2, rtol=1e-12)
    for name, expected in (("B", 1 / 4), ("C", 2 / 1000)):
        power = (params[f"{name}_re"] ** 2 + params[f"{name}_im"] ** 2).mean()
        assert abs(float(power) / expected - 1) < 0.1
    whole = drawn(LRU(1000, 4, N_OUT))
    assert float(torch.exp(whole["theta"]).max()) > 6.2 and whole["nu"].isfinite().all()


def test_a_low_rank_network_has_the_variance_and_the_radius_of_a_vanilla_one():
    params = drawn(built("low_rank_rnn", hidden=256, rank=64))
    W_hh = (params["U_hh"] @ params["V_hh"].T).numpy()
    assert W_hh.var() == pytest.approx(1 / (3 * 256), rel=0.05)
    assert np.abs(np.linalg.eigvals(W_hh)).max() == pytest.approx(1 / np.sqrt(3), rel=0.1)
    bound = (3 / (256 * 64)) ** 0.25
    for name in ("U_hh", "V_hh"):
        assert 0.99 * bound < params[name].abs().max() <= bound
    assert params["W_ih"].abs().max() <= 1 / 16 and params["b_h"].abs().max() <= 1 / 16


@pytest.mark.parametrize(
    ("condition", "largest"), [(1, 0.0), (50, 0.0), (50, 0.9), (5000, 0.0), (1e5, 0.0)]
)
def test_singular_values_follow_a_power_law(condition, largest):
    ours = fresh(spectral(64, condition=condition, largest=largest), [0, 1])
    theirs = fresh(RNN(64, N_IN, N_OUT), [0, 1])
    W_hh = ours["W_hh"][0].numpy()
    s = np.linalg.svd(W_hh, compute_uv=False)
    k, power = np.arange(1, 65), np.log(condition) / np.log(64)
    np.testing.assert_allclose(s / s[0], k**-power, rtol=1e-8)
    if largest:
        assert s[0] == pytest.approx(largest, rel=1e-12)
    else:  # that of the vanilla network on average
        assert np.sqrt((s**2).sum()) == pytest.approx(np.sqrt(64 / 3), rel=1e-12)
        squares = fresh(RNN(64, 3, 2), range(20))["W_hh"].square().sum((1, 2))
        assert (s**2).sum() == pytest.approx(float(squares.mean()), rel=0.01)
    # U and V are two: of one and the same, W_hh would be symmetric.
    assert np.abs(W_hh - W_hh.T).max() > 1e-3
    # All else begins as the vanilla network of the seed.
    assert list(ours) == list(theirs) and not torch.allclose(*ours["W_hh"])
    assert all(torch.equal(ours[name], p) == (name != "W_hh") for name, p in theirs.items())


def test_a_single_unit_has_the_largest_singular_value():
    alone = drawn(spectral(hidden=1, condition=50, largest=0.9))["W_hh"]
    assert abs(alone.item()) == pytest.approx(0.9, rel=1e-12)


def test_bases_are_orthogonal_and_uniform():
    draw = torch.Generator().manual_seed(0)
    many = torch.stack([random_orthogonal_matrix(3, draw) for _ in range(2000)])
    eye = torch.eye(3, dtype=torch.float64).expand(2000, 3, 3)
    torch.testing.assert_close(many @ many.transpose(1, 2), eye)
    # Every entry has the mean 0 and the variance 1/3; without their signs, a QR's have not.
    torch.testing.assert_close(many.mean(0), torch.zeros_like(eye[0]), rtol=0, atol=0.05)
    torch.testing.assert_close(many.var(0), torch.full_like(eye[0], 1 / 3), rtol=0, atol=0.03)


@pytest.mark.parametrize("options", [{}, {"condition": 500.0, "largest": 0.9}])
def test_a_singular_network_begins_as_the_spectral_one_of_its_options(options):
    ours = fresh(singular(**options), [0, 1])
    theirs = fresh(spectral(**options), [0, 1])
    U, s, V = ours.pop("U_hh"), ours.pop("s_hh"), ours.pop("V_hh")
    product = U @ torch.diag_embed(s) @ V.transpose(1, 2)
    torch.testing.assert_close(product, theirs.pop("W_hh"), rtol=1e-12, atol=1e-14)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], p) for name, p in theirs.items())
    other = fresh(singular(condition=7.0), [0])
    assert not torch.allclose(other["s_hh"][0], s[0]) and torch.equal(other["U_hh"][0], U[0])


@pytest.mark.parametrize("name", catalogue.parts("optimizer"))
def test_no_optimizer_changes_a_singular_networks_bases(name):
    network = singular()
    loop = Loop(make_learner("immediate", network), make_optimizer(name), SQUARED_ERROR, segment=8)
    params = networks(network)
    rates = params["W_out"].new_full((2,), 0.01)
    after = adapt(loop, params, rates, *stream(8)).state.params
    assert all(torch.equal(after[n], p) == (n in ("U_hh", "V_hh")) for n, p in params.items())
