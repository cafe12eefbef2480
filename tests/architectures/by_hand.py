"""Networks by other means: torch's modules, NumPy, complex numbers, sums over the whole past.

Each answers what the readout sees after every step, (steps, hidden); of an element-wise network,
whose readout is no linear one, the outputs.
"""

import numpy as np
import torch
from scipy.special import expit, logsumexp


def arrays(params):
    return {name: p.numpy() for name, p in params.items()}


def torch_cell(network, params, X, turn=0):
    """torch.nn's cell with these weights; `turn` its recurrent rows and it is another one."""
    name, n = network.part.name, network.hidden
    kinds = {"rnn": torch.nn.RNNCell, "lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}
    cell = kinds[name](X.shape[1], n, dtype=torch.float64)
    state, found = None, []
    with torch.no_grad():
        cell.weight_ih.copy_(params["W_ih"])
        cell.weight_hh.copy_(params["W_hh"].roll(turn, 0))
        cell.bias_ih.copy_(params["b_h"])
        cell.bias_hh.zero_()
        if name == "gru":
            # Of the cell's two biases of r and z, whose sum is b_h, any share may be in either.
            cell.bias_ih[: 2 * n] *= 0.7
            cell.bias_hh.copy_(torch.cat([0.3 * params["b_h"][: 2 * n], params["b_n"]]))
        for x in X:
            state = cell(x[None], state)
            found.append((state[0] if name == "lstm" else state)[0])
    return torch.stack(found)


def euler(network, params, X, less=0.0):
    """tau dh/dt = -h + tanh(W_ih x + W_hh h + b_h)."""
    p, h, found, tau = arrays(params), np.zeros(network.hidden), [], 0.02
    for x in X.numpy():
        slope = (-h + np.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])) / tau
        h = h + (network.dt_over_tau - less) * tau * slope
        found.append(h)
    return np.array(found)


def _dense(v, W, b, scale, eps):
    v = W @ v + b
    v = v / np.sqrt(np.mean(v**2) + eps) * scale
    return v * expit(v)


def _diagonal(blocks):
    """The matrix that has these blocks on its diagonal, and zeros elsewhere."""
    g, rows, columns = blocks.shape
    whole = np.zeros((g * rows, g * columns))
    for k, block in enumerate(blocks):
        whole[k * rows : (k + 1) * rows, k * columns : (k + 1) * columns] = block
    return whole


def block_gru(network, params, X, eps=1e-4, bias=-1.0, gates=("reset", "cand", "update")):
    """One large matrix in place of the blocks."""
    p, n, found = arrays(params), network.hidden, []
    g, h, blocks = {}, np.zeros(n), network.blocks
    of_block = p["W_g"].reshape(blocks, 3, n // blocks, -1)
    biases = p["b_g"].reshape(blocks, 3, -1)
    joined = np.concatenate([_diagonal(p["W_hh"]), p["W_eh"].reshape(n, -1)], 1)
    for x in X.numpy():
        embeddings = [
            _dense(v, p[f"W_{of}"], p[f"b_{of}"], p[f"scale_{of}"], eps)
            for of, v in (("he", h), ("ih", x))
        ]
        u = _dense(np.concatenate([h, *embeddings]), joined, p["b_h"], p["scale_h"], eps)
        for k, gate in enumerate(gates):
            g[gate] = _diagonal(of_block[:, k]) @ u + biases[:, k].reshape(-1)
        cand, update = np.tanh(expit(g["reset"]) * g["cand"]), expit(g["update"] + bias)
        m = h = update * cand + (1 - update) * h
        for k in range(network.mlp):
            m = _dense(m, *(p[f"{name}.{k}"] for name in ("W_m", "b_m", "scale_m")), eps)
        found.append(m)
    return np.array(found)


def slstm(network, params, X, forget=None):
    """A mean of all z so far, weighted by exp(i) and later f, by log-sum-exp."""
    p, n, found = arrays(params), network.hidden, []
    h, log_weights, zs = np.zeros(n), np.zeros((0, n)), []
    for x in X.numpy():
        i, f, z, o = np.split(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"], 4)
        log_f = -np.logaddexp(0, -f) if (forget or network.forget) == "sigmoid" else f
        log_weights = np.concatenate([log_weights + log_f, i[None]])
        zs.append(np.tanh(z))
        share = np.exp(log_weights - logsumexp(log_weights, axis=0))
        h = expit(o) * (share * np.stack(zs)).sum(0)
        found.append(h)
    return np.stack(found)


def rwkv(network, params, X, first_bonus=True):
    """A mean of all values so far, weighted by exp(k - age w), by log-sum-exp."""
    p, found = arrays(params), []
    U = X.numpy() @ p["W_in"].T + p["b_in"]
    before = np.concatenate([np.zeros((1, network.hidden)), U[:-1]])
    r, k, v = (
        (p[f"mu_{n}"] * U + (1 - p[f"mu_{n}"]) * before) @ p[f"W_{n}"].T for n in ("r", "k", "v")
    )
    for t in range(len(U)):
        age = np.arange(t, -1, -1)[:, None] - 1  # of the step before: 0
        exponents = k[: t + 1] - age * np.exp(p["decay"])
        exponents[t] = k[t] + (p["bonus"] if first_bonus else 0.0)
        share = np.exp(exponents - logsumexp(exponents, axis=0))
        found.append(p["W_o"] @ ((share * v[: t + 1]).sum(0) * expit(r[t])))
    return np.stack(found)


def _turned(vectors, positions):
    """Pairs of numbers as complex ones, times exp(i position 10000^(-2j/d)) (positions, d)."""
    pairs = vectors[..., 0::2] + 1j * vectors[..., 1::2]
    angle = 10000.0 ** (-np.arange(0, vectors.shape[-1], 2) / vectors.shape[-1])
    return pairs * np.exp(1j * positions[:, None] * angle)


def retnet(network, params, X, decay=None):
    """Retention(X) = (Q K^T * D) V, all steps at once (Sun et al. 2023, eq. 5)."""
    p, outputs = arrays(params), []
    U, steps = X.numpy() @ p["W_in"].T + p["b_in"], np.arange(len(X))
    age = steps[:, None] - steps
    for head in range(network.heads):
        gamma = 1 - 2.0 ** (-5 - head) if decay is None else decay
        mask = np.where(age >= 0, gamma ** np.maximum(age, 0), 0.0)
        keys = slice(head * network.key_size, (head + 1) * network.key_size)
        values = slice(head * network.value_size, (head + 1) * network.value_size)
        Q, K, V = U @ p["W_q"][keys].T, U @ p["W_k"][keys].T, U @ p["W_v"][values].T
        if network.rotation:
            Q, K = _turned(Q, steps), _turned(K, steps)
        scores = (Q @ K.conj().T).real / np.sqrt(network.key_size)
        outputs.append((scores * mask) @ V)
    joined = torch.as_tensor(np.concatenate(outputs, 1))
    G = U @ p["W_g"].T
    normal = torch.nn.functional.group_norm(joined, network.heads).numpy()
    return (G * expit(G) * normal) @ p["W_o"].T


def _read_out(p, y):
    """GELU, a gated linear unit and the linear readout."""
    z = torch.nn.functional.gelu(torch.as_tensor(y)) @ p["W_glu"].T + p["b_glu"]
    return torch.nn.functional.glu(z, -1) @ p["W_out"].T + p["b_out"]


def s4(network, params, X, other=None):
    """y = K * v + D v, K_l = 2 Re(sum over modes of C lambda^l beta)."""
    p = arrays(params)
    v = X.numpy() @ p["W_in"].T + p["b_in"]
    A, C = -np.exp(p["log_A_real"]) + 1j * p["A_imag"], p["C_re"] + 1j * p["C_im"]
    dt = np.exp(p["log_dt"])[:, None]
    if (other or network.discretisation) == "zoh":
        decay = np.exp(dt * A)
        beta = (decay - 1) / A
    else:
        decay, beta = (1 + dt * A / 2) / (1 - dt * A / 2), dt / (1 - dt * A / 2)
    steps = np.arange(len(v))
    kernel = 2 * (C * beta * decay ** steps[:, None, None]).sum(-1).real
    past = np.stack([(kernel[t::-1] * v[: t + 1]).sum(0) for t in steps])
    return _read_out(params, past + p["D"] * v)


def lru(network, params, X, gain=1.0):
    """y_t = Re(C sum_s lambda^(t-s) exp(gamma) B x_s) + D x_t."""
    p = arrays(params)
    decay = np.exp(-np.exp(p["nu"]) + 1j * np.exp(p["theta"]))
    B, C = p["B_re"] + 1j * p["B_im"], p["C_re"] + 1j * p["C_im"]
    driven = gain * np.exp(p["gamma"]) * (X.numpy() @ B.T)
    h = [sum(decay ** (t - s) * driven[s] for s in range(t + 1)) for t in range(len(X))]
    return _read_out(params, (np.stack(h) @ C.T).real + X.numpy() @ p["D"].T)


# torch's names of a transformer's block, and ours.
_BLOCK = {
    **{f"norm{k}.weight": f"scale_{k}" for k in (1, 2)},
    **{f"norm{k}.bias": f"shift_{k}" for k in (1, 2)},
    **{f"linear{k}.weight": f"W_{k}" for k in (1, 2)},
    **{f"linear{k}.bias": f"b_{k}" for k in (1, 2)},
    "self_attn.in_proj_weight": "W_qkv",
    "self_attn.out_proj.weight": "W_o",
    "self_attn.out_proj.bias": "b_o",
}


def transformer(network, params, X, causal=True, heads=None, placed=1.0):
    """torch's encoder on the last inputs alone."""
    n = network.hidden
    shape = {"nhead": heads or network.heads, "dim_feedforward": network.feedforward * n}
    switches = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    layer = torch.nn.TransformerEncoderLayer(n, **shape, **switches, dtype=torch.float64)
    last = torch.nn.LayerNorm(n, dtype=torch.float64)
    whole = torch.nn.TransformerEncoder(layer, network.layers, last, enable_nested_tensor=False)
    weights = {"norm.weight": params["scale"], "norm.bias": params["shift"]}
    for k in range(network.layers):
        weights |= {f"layers.{k}.{theirs}": params[f"{o}.{k}"] for theirs, o in _BLOCK.items()}
        b_q, b_v = params[f"b_qv.{k}"].chunk(2)
        biases = torch.cat([b_q, 0.7 * torch.ones_like(b_q), b_v])  # of keys any: it cancels
        weights[f"layers.{k}.self_attn.in_proj_bias"] = biases
    whole.load_state_dict(weights)
    found = []
    for t in range(len(X)):
        window = X[max(0, t + 1 - network.context) : t + 1]
        places = placed * params["position"][-len(window) :]
        tokens = window @ params["W_in"].T + params["b_in"] + places
        mask = torch.nn.Transformer.generate_square_subsequent_mask(len(window)).double()
        with torch.no_grad():
            found.append(whole.eval()(tokens[None], mask=mask if causal else None)[0, -1])
    return torch.stack(found)
