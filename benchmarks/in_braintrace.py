"""Online learners of braintrace (JAX), driven as its documentation says but for the readout.

A vanilla RNN and plain gradient descent after each step, one model: batches of 5 and 25, by its
`batch_size` and by its `vmap`, took it longer a model and step, whichever the learner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import brainstate
import braintrace
import jax
import jax.numpy as jnp
import numpy as np

import benchmarks.in_jax  # noqa: F401  (one thread and float64, before JAX starts)
from benchmarks.problem import Problem, Weights

brainstate.environ.set(precision=64)

# By our name for each: the class and its options.
LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "braintrace d_rtrl": (braintrace.D_RTRL, {}),
    "braintrace snap, n=1": (braintrace.SnAp, {"n": 1}),
    "braintrace uoro": (braintrace.UORO, {}),
    # Two steps reach every unit from every other: the full pattern.
    "braintrace snap, n=2 (exact)": (braintrace.SnAp, {"n": 2}),
}


# By what gradients and weights are kept.
_PARTS = ("cell", "out")


def learner(problem: Problem, name: str) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights.

    Its second call compiles once more, the third is as fast as it gets.
    """
    driven = _Driven(problem, *LEARNERS[name])
    X, Y = (jnp.asarray(a)[:, None] for a in problem.stream)

    def step(x: Any, y: Any) -> Any:
        for key, gradient in driven.gradients(x, y).items():
            driven.weights[key].value = jax.tree.map(
                lambda w, g: w - problem.rate * g, driven.weights[key].value, gradient
            )

    @brainstate.transform.jit
    def over_steps(X: Any, Y: Any) -> Any:
        brainstate.transform.for_loop(step, X, Y)

    def go() -> Weights:
        over_steps(X, Y)
        return {k: jax.block_until_ready(s.value) for k, s in driven.weights.items()}

    return go


def gradients(
    problem: Problem, name: str, options: dict[str, Any], draws: int | None = None
) -> Weights:
    """The gradient of each step with the weights of the problem's first model, never changed.

    Args:
        problem: A vanilla RNN and its stream.
        name, options: A class of braintrace, and what it is made with; a scope of the recurrence
            is an option of its config.
        draws: Of an algorithm's random numbers, each from the start of the stream; None where it
            draws none.

    Returns:
        {parameter: (draws, steps, *shape)}, or (steps, *shape) without draws, named and laid out as
        in orla.
    """
    if "recurrence_scope" in options:
        options = {"config": braintrace.ETraceConfig(**options)}
    driven = _Driven(problem, getattr(braintrace, name), options)
    given = problem.weights_of(0)
    recurrent = jnp.concatenate([given["W_ih"].T, given["W_hh"].T])
    driven.weights["cell"].value = {"weight": recurrent, "bias": jnp.asarray(given["b_h"])}
    readout = {"weight": jnp.asarray(given["W_out"].T), "bias": jnp.asarray(given["b_out"])}
    driven.weights["out"].value = readout
    X, Y = (jnp.asarray(a)[:, None] for a in problem.stream)

    def over_steps(key: Any = None) -> Any:
        if key is not None:
            driven.begin(key)
        return brainstate.transform.for_loop(driven.gradients, X, Y)

    if draws is None:
        found = brainstate.transform.jit(over_steps)()
    else:
        keys = jax.random.split(jax.random.key(0), draws)
        found = brainstate.transform.jit(
            lambda keys: brainstate.transform.for_loop(over_steps, keys)
        )(keys)
    cell, out = (np.swapaxes(found[part]["weight"], -1, -2) for part in _PARTS)
    return {
        "W_ih": cell[..., : problem.n_in],
        "W_hh": cell[..., problem.n_in :],
        "b_h": np.asarray(found["cell"]["bias"]),
        "W_out": out,
        "b_out": np.asarray(found["out"]["bias"]),
    }


class _Driven:
    """A vanilla RNN under an algorithm of braintrace, and its readout.

    The algorithm has the cell alone. With the readout inside, an algorithm of single steps, which
    is the default, answers with zeros as the readout's gradient.
    """

    def __init__(self, problem: Problem, algorithm: Any, options: dict[str, Any]) -> None:
        self.windows = algorithm is braintrace.UORO
        with brainstate.random.seed_context(0):
            self.cell = braintrace.nn.ValinaRNNCell(problem.n_in, problem.hidden, activation="tanh")
            self.out = brainstate.nn.Linear(problem.hidden, problem.n_out)
            first = self._given(jnp.asarray(problem.stream[0])[:1])
            self.own = braintrace.compile(self.cell, algorithm, first, batch_size=1, **options)
        self.weights = dict(zip(_PARTS, (self.cell.W.weight, self.out.weight), strict=True))

    def begin(self, key: Any) -> None:
        """Set the state and what is carried to their start, and the random numbers to `key`."""
        self.cell.reset_state(1)
        self.own.reset_state(1)
        self.own.projection_rng.value = key

    def gradients(self, x: Any, y: Any) -> dict[str, Any]:
        """Of one step's loss: the mean over outputs of the squared error."""

        def loss() -> Any:
            error = self.out(self.own(self._given(x)).reshape(1, -1)) - y
            return (error * error).mean()

        return brainstate.transform.grad(loss, self.weights)()

    def _given(self, x: Any) -> Any:
        # UORO takes windows of steps, of one here.
        return braintrace.MultiStepData(x[None]) if self.windows else x
