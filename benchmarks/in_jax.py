"""The immediate learner with Adam in JAX: scan over the stream, vmap over models, grad, jit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# One thread, like everything else here; read when JAX starts.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.problem import Problem, Weights

jax.config.update("jax_enable_x64", True)


def _rnn(p: Any, h: Any, x: Any) -> Any:
    return jnp.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])


def _lstm(p: Any, state: Any, x: Any) -> Any:
    h, c = jnp.split(state, 2)
    i, f, g, o = jnp.split(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"], 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jnp.concatenate([jax.nn.sigmoid(o) * jnp.tanh(c), c])


def immediate(problem: Problem, models: int) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights; compiled once."""
    advance = {"rnn": _rnn, "lstm": _lstm}[problem.name]
    tree = jax.tree_util.tree_map

    def loss(p: Any, state: Any, x: Any, y: Any) -> Any:
        after = advance(p, jax.lax.stop_gradient(state), x)
        error = p["W_out"] @ after[: problem.hidden] + p["b_out"] - y
        return (error * error).mean(), after

    def one(p: Any, state: Any, m: Any, v: Any, t: Any, x: Any, y: Any) -> Any:
        (value, after), g = jax.value_and_grad(loss, has_aux=True)(p, state, x, y)
        m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate, root = problem.rate / (1.0 - 0.9**t), 1.0 / jnp.sqrt(1.0 - 0.999**t)
        p = tree(lambda p, m, v: p - rate * m / (jnp.sqrt(v) * root + 1e-8), p, m, v)
        return (p, after, m, v), value

    def step(carry: Any, xyt: Any) -> Any:
        x, y, t = xyt
        return jax.vmap(one, in_axes=(0, 0, 0, 0, None, None, None))(*carry, t, x, y)

    run = jax.jit(lambda carry, stream: jax.lax.scan(step, carry, stream))
    p = {name: jnp.asarray(w) for name, w in problem.weights(models).items()}
    zeros = tree(jnp.zeros_like, p)
    carry = (p, jnp.zeros((models, problem.architecture.state_size)), zeros, zeros)
    X, Y = problem.stream
    stream = jnp.asarray(X), jnp.asarray(Y), jnp.arange(1.0, problem.steps + 1.0)

    def go() -> Weights:
        (p, *_), _ = jax.block_until_ready(run(carry, stream))
        return {name: np.asarray(w) for name, w in p.items()}

    return go
