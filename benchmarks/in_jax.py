"""The immediate learner with Adam in JAX: the whole run is one compiled scan over the stream."""

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

from benchmarks.jax_cells import CELLS
from benchmarks.problem import Problem, Weights

jax.config.update("jax_enable_x64", True)

# Where the models' axis stands: outside the scan over steps, or inside it.
WAYS = ("vmap(scan)", "scan(vmap)")


def immediate(problem: Problem, models: int, way: str = WAYS[0]) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights; compiled once.

    Each parameter, and Adam's m and v of it, is an array of its own, (models, ...). `way` is one of
    WAYS.
    """
    cell = CELLS[problem.name]
    tree = jax.tree_util.tree_map

    def loss(p: Any, state: Any, x: Any, y: Any) -> Any:
        after, output = cell.advance(p, jax.lax.stop_gradient(state), x)
        error = output - y
        return (error * error).mean(), after

    def step(carry: Any, moment: Any) -> Any:
        (p, state, m, v), (x, y, t) = carry, moment
        (value, after), g = jax.value_and_grad(loss, has_aux=True)(p, state, x, y)
        m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate, root = problem.rate / (1.0 - 0.9**t), 1.0 / jnp.sqrt(1.0 - 0.999**t)
        p = tree(lambda p, m, v: p - rate * m / (jnp.sqrt(v) * root + 1e-8), p, m, v)
        return (p, after, m, v), value

    def over_models(function: Callable) -> Callable:
        return jax.vmap(function, in_axes=(0, None))

    def over_steps(function: Callable) -> Callable:
        return lambda carry, stream: jax.lax.scan(function, carry, stream)

    inside, outside = {
        "vmap(scan)": (over_steps, over_models),
        "scan(vmap)": (over_models, over_steps),
    }[way]
    run = jax.jit(outside(inside(step)))
    p = {name: jnp.asarray(w) for name, w in problem.weights(models).items()}
    zeros = tree(jnp.zeros_like, p)
    carry = (p, cell.start(problem.architecture, models), zeros, zeros)
    X, Y = problem.stream
    stream = jnp.asarray(X), jnp.asarray(Y), jnp.arange(1.0, problem.steps + 1.0)

    def go() -> Weights:
        (p, *_), _ = jax.block_until_ready(run(carry, stream))
        return {name: np.asarray(w) for name, w in p.items()}

    return go
