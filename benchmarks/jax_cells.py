"""Every architecture's step in JAX, as its user would write it: (p, state, x) to state and output.

Sizes and options are those that the catalogue gives by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from orla.architectures.base import Architecture

_GELU = jax.jit(lambda v: jax.nn.gelu(v, approximate=False))
_LOWEST = -1e38


@dataclass(frozen=True)
class Cell:
    """A network in JAX.

    advance: (parameters, state, x) to the next state and the output.
    shapes: Of each part of the state, from the architecture; one part is no tuple.
    kind: What numbers the state has.
    """

    advance: Callable[[Any, Any, Any], tuple[Any, Any]]
    shapes: Callable[[Architecture], tuple[tuple[int, ...], ...]] = lambda a: ((a.hidden,),)
    kind: Any = jnp.float64

    def start(self, architecture: Architecture, models: int) -> Any:
        """The state before the first step, models on the first axis."""
        parts = [jnp.zeros((models, *s), self.kind) for s in self.shapes(architecture)]
        return tuple(parts) if len(parts) > 1 else parts[0]


def _out(p: Any, h: Any) -> Any:
    return p["W_out"] @ h + p["b_out"]


def _gates(p: Any, h: Any, x: Any) -> Any:
    return p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"]


def _rnn(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    h = jnp.tanh(_gates(p, h, x))
    return h, _out(p, h)


def _ctrnn(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    h = 0.5 * h + 0.5 * jnp.tanh(_gates(p, h, x))
    return h, _out(p, h)


def _lstm(p: Any, state: Any, x: Any) -> tuple[Any, Any]:
    h, c = state
    i, f, g, o = jnp.split(_gates(p, h, x), 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), _out(p, h)


def _gru(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    r_x, z_x, n_x = jnp.split(p["W_ih"] @ x + p["b_h"], 3)
    r_h, z_h, n_h = jnp.split(p["W_hh"] @ h, 3)
    r, z = jax.nn.sigmoid(r_x + r_h), jax.nn.sigmoid(z_x + z_h)
    h = (1.0 - z) * jnp.tanh(n_x + r * (n_h + p["b_n"])) + z * h
    return h, _out(p, h)


def _slstm(p: Any, state: Any, x: Any) -> tuple[Any, Any]:
    h, c, n, m = state
    log_i, f, z, o = jnp.split(_gates(p, h, x), 4)
    carried = jnp.where(n == 0, log_i, jax.nn.log_sigmoid(f) + m)
    m = jax.lax.stop_gradient(jnp.maximum(carried, log_i))
    i, f = jnp.exp(log_i - m), jnp.exp(carried - m)
    c, n = f * c + i * jnp.tanh(z), f * n + i
    h = jax.nn.sigmoid(o) * c / n
    return (h, c, n, m), _out(p, h)


def _retnet(p: Any, S: Any, x: Any) -> tuple[Any, Any]:
    u = p["W_in"] @ x + p["b_in"]
    q, k, v = p["W_q"] @ u, p["W_k"] @ u / math.sqrt(len(u)), p["W_v"] @ u
    S = (1.0 - 2.0**-5) * S + v[:, None] * k
    o = S @ q
    o = o - o.mean()
    o = o * jax.lax.rsqrt((o * o).mean() + 1e-5)
    return S, _out(p, p["W_o"] @ (jax.nn.silu(p["W_g"] @ u) * o))


def _rwkv(p: Any, state: Any, x: Any) -> tuple[Any, Any]:
    before, a, b, e = state
    u = p["W_in"] @ x + p["b_in"]
    r, k, v = (
        p[f"W_{n}"] @ (p[f"mu_{n}"] * u + (1.0 - p[f"mu_{n}"]) * before) for n in ("r", "k", "v")
    )
    e = jnp.where(b == 0, _LOWEST, e)
    now = p["bonus"] + k
    highest = jax.lax.stop_gradient(jnp.maximum(e, now))
    past, present = jnp.exp(e - highest), jnp.exp(now - highest)
    wkv = (past * a + present * v) / (past * b + present)
    kept = e - jnp.exp(p["decay"])
    e = jax.lax.stop_gradient(jnp.maximum(kept, k))
    past, present = jnp.exp(kept - e), jnp.exp(k - e)
    after = (u, past * a + present * v, past * b + present, e)
    return after, _out(p, p["W_o"] @ (jax.nn.sigmoid(r) * wkv))


def _glu(p: Any, y: Any) -> Any:
    a, b = jnp.split(p["W_glu"] @ _GELU(y) + p["b_glu"], 2)
    return _out(p, a * jax.nn.sigmoid(b))


def _s4(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    A = -jnp.exp(p["log_A_real"]) + 1j * p["A_imag"]
    decay = jnp.exp(jnp.exp(p["log_dt"])[:, None] * A)
    v = p["W_in"] @ x + p["b_in"]
    h = decay * h + (decay - 1.0) / A * v[:, None]
    C = p["C_re"] + 1j * p["C_im"]
    return h, _glu(p, 2.0 * (C * h).real.sum(-1) + p["D"] * v)


def _lru(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    decay = jnp.exp(-jnp.exp(p["nu"]) + 1j * jnp.exp(p["theta"]))
    h = decay * h + jnp.exp(p["gamma"]) * (p["B_re"] @ x + 1j * (p["B_im"] @ x))
    return h, _glu(p, p["C_re"] @ h.real - p["C_im"] @ h.imag + p["D"] @ x)


def _dense(p: Any, name: str, v: Any) -> Any:
    return _activated(p[f"W_{name}"] @ v + p[f"b_{name}"], p[f"scale_{name}"])


def _activated(v: Any, scale: Any) -> Any:
    return jax.nn.silu(v * jax.lax.rsqrt((v * v).mean() + 1e-4) * scale)


def _block_gru(p: Any, h: Any, x: Any) -> tuple[Any, Any]:
    blocks = len(p["W_hh"])
    embedded = jnp.concatenate([_dense(p, "he", h), _dense(p, "ih", x)])
    u = jnp.einsum("gij,gj->gi", p["W_hh"], h.reshape(blocks, -1)) + p["W_eh"] @ embedded
    u = _activated(u.ravel() + p["b_h"], p["scale_h"])
    gates = jnp.einsum("gij,gj->gi", p["W_g"], u.reshape(blocks, -1)) + p["b_g"]
    reset, cand, update = (gate.ravel() for gate in jnp.split(gates, 3, -1))
    cand, update = jnp.tanh(jax.nn.sigmoid(reset) * cand), jax.nn.sigmoid(update - 1.0)
    h = update * cand + (1.0 - update) * h
    return h, _out(p, _dense(p, "m.1", _dense(p, "m.0", h)))


def _transformer(p: Any, state: Any, x: Any) -> tuple[Any, Any]:
    filled, window = state
    filled = jnp.concatenate([filled[1:], jnp.ones(1)])
    window = jnp.concatenate([window[1:], x[None]])
    at = jnp.arange(len(filled))
    seen = (at == at[:, None]) | ((at < at[:, None]) & (filled > 0))
    tokens = window @ p["W_in"].T + p["b_in"] + p["position"]
    tokens = _block(p, "0", tokens, seen)
    tokens = _block(p, "1", tokens, seen[-1:])
    return (filled, window), _out(p, _norm(p["scale"], p["shift"], tokens[-1]))


def _block(p: Any, k: str, tokens: Any, seen: Any, heads: int = 4) -> Any:
    normed, asking = _norm(p[f"scale_1.{k}"], p[f"shift_1.{k}"], tokens), len(seen)
    W_q, W_k, W_v = jnp.split(p[f"W_qkv.{k}"], 3)
    b_q, b_v = jnp.split(p[f"b_qv.{k}"], 2)
    q, keys, v = normed[-asking:] @ W_q.T + b_q, normed @ W_k.T, normed @ W_v.T + b_v
    q, keys, v = (t.reshape(len(t), heads, -1) for t in (q, keys, v))
    scores = jnp.einsum("ahd,bhd->hab", q, keys) / math.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    attended = jnp.einsum("hab,bhd->ahd", weights, v).reshape(asking, -1)
    z = tokens[-asking:] + attended @ p[f"W_o.{k}"].T + p[f"b_o.{k}"]
    normed = _norm(p[f"scale_2.{k}"], p[f"shift_2.{k}"], z)
    return z + _GELU(normed @ p[f"W_1.{k}"].T + p[f"b_1.{k}"]) @ p[f"W_2.{k}"].T + p[f"b_2.{k}"]


def _norm(scale: Any, shift: Any, z: Any) -> Any:
    centred = z - z.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * scale + shift


CELLS = {
    "rnn": Cell(_rnn),
    "lstm": Cell(_lstm, lambda a: ((a.hidden,),) * 2),
    "gru": Cell(_gru),
    "ctrnn": Cell(_ctrnn),
    "slstm": Cell(_slstm, lambda a: ((a.hidden,),) * 4),
    "retnet": Cell(_retnet, lambda a: ((a.hidden, a.hidden),)),
    "rwkv": Cell(_rwkv, lambda a: ((a.hidden,),) * 4),
    "s4": Cell(_s4, lambda a: ((a.hidden, a.modes),), jnp.complex128),
    "lru": Cell(_lru, kind=jnp.complex128),
    "block_gru": Cell(_block_gru),
    "transformer": Cell(_transformer, lambda a: ((a.context,), (a.context, a.n_in))),
}
