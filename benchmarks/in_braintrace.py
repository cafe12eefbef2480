"""Online learners of braintrace (JAX), driven as its documentation says.

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


class _Net(brainstate.nn.Module):
    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.cell = braintrace.nn.ValinaRNNCell(problem.n_in, problem.hidden, activation="tanh")
        self.out = braintrace.nn.Linear(problem.hidden, problem.n_out)

    def update(self, x: Any) -> Any:
        return self.out(self.cell(x))


def learner(problem: Problem, name: str) -> Callable[[], Weights]:
    """A function that goes through the stream and answers with final weights.

    Its second call compiles once more, the third is as fast as it gets.
    """
    algorithm, options = LEARNERS[name]

    def given(x: Any) -> Any:
        # UORO takes windows of steps, of one here.
        return braintrace.MultiStepData(x[None]) if algorithm is braintrace.UORO else x

    X, Y = (jnp.asarray(a)[:, None] for a in problem.stream)
    with brainstate.random.seed_context(0):
        model = _Net(problem)
        own = braintrace.compile(model, algorithm, given(X[0]), batch_size=1, **options)
    weights = model.states(brainstate.ParamState)

    def step(x: Any, y: Any) -> Any:
        def loss() -> Any:
            error = own(given(x)).reshape(y.shape) - y
            return (error * error).mean()

        gradients = brainstate.transform.grad(loss, weights)()
        for key, gradient in gradients.items():
            weights[key].value = jax.tree.map(
                lambda w, g: w - problem.rate * g, weights[key].value, gradient
            )

    @brainstate.transform.jit
    def over_steps(X: Any, Y: Any) -> Any:
        brainstate.transform.for_loop(step, X, Y)

    def go() -> Weights:
        over_steps(X, Y)
        return {str(k): jax.block_until_ready(s.value) for k, s in weights.items()}

    return go
