"""S4D and the LRU against convolutions of complex numbers, and what element-wise means."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, NETWORKS, one, stream, trajectory

from orla.architectures.elementwise import ElementWise
from orla.architectures.lru import LRU
from orla.architectures.s4 import S4

STEPS = 30


def outputs(network, params, X):
    """Outputs of the network, and y that they are made of."""
    states = trajectory(network, params, X)
    found = [network.readout(params, state) for state in states]
    return torch.stack(found), torch.stack([network.outputs(params, s) for s in states]).numpy()


def s4_by_convolution(network, params, X, method):
    """y (steps, hidden) = K * v + D v, K_l = 2 Re(sum over modes of C lambda^l beta)."""
    p = {name: value.numpy() for name, value in params.items()}
    v = X.numpy() @ p["W_in"].T + p["b_in"]
    A, C = -np.exp(p["log_A_real"]) + 1j * p["A_imag"], p["C_re"] + 1j * p["C_im"]
    dt = np.exp(p["log_dt"])[:, None]
    if method == "zoh":
        decay = np.exp(dt * A)
        beta = (decay - 1) / A
    else:
        decay, beta = (1 + dt * A / 2) / (1 - dt * A / 2), dt / (1 - dt * A / 2)
    steps = np.arange(len(v))
    kernel = 2 * (C * beta * decay ** steps[:, None, None]).sum(-1).real
    return np.stack([(kernel[t::-1] * v[: t + 1]).sum(0) for t in steps]) + p["D"] * v


def lru_by_sums(network, params, X, _):
    """y_t = Re(C sum_s lambda^(t-s) exp(gamma) B x_s) + D x_t."""
    p = {name: value.numpy() for name, value in params.items()}
    decay = np.exp(-np.exp(p["nu"]) + 1j * np.exp(p["theta"]))
    B, C = p["B_re"] + 1j * p["B_im"], p["C_re"] + 1j * p["C_im"]
    driven = np.exp(p["gamma"]) * (X.numpy() @ B.T)
    h = [sum(decay ** (t - s) * driven[s] for s in range(t + 1)) for t in range(len(X))]
    return (np.stack(h) @ C.T).real + X.numpy() @ p["D"].T


def s4(method="zoh"):
    return S4(HIDDEN, N_IN, N_OUT, modes=3, dt_min=0.3, dt_max=1.0, discretisation=method)


CASES = [
    (s4("zoh"), s4_by_convolution, "zoh"),
    (s4("bilinear"), s4_by_convolution, "bilinear"),
    (LRU(HIDDEN, N_IN, N_OUT), lru_by_sums, None),
]


@pytest.mark.parametrize("network, by_hand, method", CASES)
def test_it_is_the_sum_over_the_past_in_complex_numbers(network, by_hand, method):
    X, _ = stream(STEPS)
    params = one(network)
    found, y = outputs(network, params, X)
    np.testing.assert_allclose(y, by_hand(network, params, X, method), rtol=1e-10, atol=1e-12)
    # GELU, a gated linear unit and the linear readout.
    z = torch.nn.functional.gelu(torch.as_tensor(y))
    z = torch.nn.functional.glu(z @ params["W_glu"].T + params["b_glu"], -1)
    expected = z @ params["W_out"].T + params["b_out"]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


ELEMENTWISE = {
    name: network for name, (network, _) in NETWORKS.items() if isinstance(network, ElementWise)
}


def promises_kept(network):
    """Whether the next state answers to the past and to parameters as `ElementWise` says."""
    params, (X, _) = one(network), stream(4)
    state = trajectory(network, params, X[:3])[-1]
    by_params, by_state = torch.func.jacrev(network.step, (0, 1))(params, state, X[3])
    n, unit = network.numbers, torch.arange(network.numbers) // network.per_unit
    real, imaginary = network.decay(params)
    block = torch.diag(real), torch.diag(imaginary)
    top = torch.cat([block[0], -block[1]], 1), torch.cat([block[1], block[0]], 1)
    expected = torch.zeros_like(by_state)
    expected[: 2 * n, : 2 * n] = torch.cat(top)
    if not torch.allclose(by_state, expected, rtol=1e-12, atol=1e-14):
        return False
    own = unit.repeat(2)[:, None] == torch.arange(network.hidden)
    for name in network.recurrent_shapes():
        by_rows = by_params[name][: 2 * n].reshape(2 * n, network.hidden, -1)
        if by_rows[~own].any() or not by_rows[own].any():
            return False
    return True


@dataclass(frozen=True)
class Shared(LRU):
    """One gain for all units, in a row of the first: a wrong promise."""

    def drive(self, params, x):
        real, imaginary = super().drive(params, x)
        return real * params["gamma"][0], imaginary


@dataclass(frozen=True)
class Coupled(LRU):
    """Each number keeps some of its neighbour's: a wrong promise."""

    def step(self, params, state, x):
        return super().step(params, state, x) + 0.1 * state.roll(1)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_element_wise_networks_keep_their_promises(name):
    assert promises_kept(ELEMENTWISE[name])


@pytest.mark.parametrize("wrong", [Shared, Coupled])
def test_a_wrong_promise_is_noticed(wrong):
    assert promises_kept(LRU(HIDDEN, N_IN, N_OUT))
    assert not promises_kept(wrong(HIDDEN, N_IN, N_OUT))


def test_s4_starts_as_s4d_lin():
    params = S4(400, N_IN, N_OUT, modes=3).init(torch.Generator().manual_seed(0))
    assert (params["log_A_real"].exp() - 0.5).abs().max() < 1e-15
    assert params["A_imag"][7].tolist() == [0.0, np.pi, 2 * np.pi]
    dt = params["log_dt"].exp()
    assert 0.001 <= float(dt.min()) < 0.0012 and 0.09 < float(dt.max()) <= 0.1
    assert abs(float(dt.log().mean()) - np.log(0.01)) < 0.2
    power = params["C_re"] ** 2 + params["C_im"] ** 2
    assert abs(float(power.mean()) - 1) < 0.1 and abs(float(params["D"].var()) - 1) < 0.2


def test_the_lru_starts_on_its_ring():
    network = LRU(2000, 4, N_OUT, r_min=0.5, r_max=0.9, max_phase=0.3)
    params = network.init(torch.Generator().manual_seed(0))
    real, imaginary = network.decay(params)
    decay = real.numpy() + 1j * imaginary.numpy()
    size = abs(decay)
    assert 0.5 <= size.min() < 0.505 and 0.895 < size.max() <= 0.9
    assert abs((size**2).mean() - (0.25 + 0.81) / 2) < 0.01  # uniform in area
    assert 0 <= np.angle(decay).min() < 0.01 and 0.29 < np.angle(decay).max() <= 0.3
    np.testing.assert_allclose(params["gamma"].exp() ** 2, 1 - size**2, rtol=1e-12)
    for name, columns in (("B", 4), ("C", 2000)):
        power = (params[f"{name}_re"] ** 2 + params[f"{name}_im"] ** 2).mean()
        expected = {"B": 1 / columns, "C": 2 / columns}[name]
        assert abs(float(power) / expected - 1) < 0.1
    whole = LRU(2000, 4, N_OUT).init(torch.Generator().manual_seed(0))
    assert float(torch.exp(whole["theta"]).max()) > 6.2 and whole["nu"].isfinite().all()
