"""One row a condition: gradient norms and absolute errors at its selected rate."""

from __future__ import annotations

from orla.results.summary import Summary, mean, seeds


class GradientNorms(Summary, name="gradient_norms", needs=("models",)):
    """Means over seeds of what the probe gradient_norm and the loss huber measure."""

    cells = (
        seeds("gradient_norm", "Seeds with a finite norm."),
        mean("gradient_norm", "Mean norm of what the optimizer was given", t95="t95_{}"),
        mean("learned_norm", "Mean norm of what the learner answered"),
        mean("absolute_error", "Mean absolute error on the held-out part"),
    )
