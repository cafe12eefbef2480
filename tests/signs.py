"""Learners with random signs: every pattern of signs at once, and what an oracle needs.

A model of the batch stands for a pattern, so that a mean over the models is the exact mean over all
draws. The weights are moved by the immediate learner, which draws nothing; the learner under test
watches.
"""

import itertools

import numpy as np
import oracles
import torch
from harness import initial, networks, stream, watch
from torch.func import jacrev

from orla import catalogue


def every_pattern(steps, numbers):
    """Numbers (steps, patterns, numbers), each below or above one half."""
    patterns = torch.tensor(list(itertools.product([0.25, 0.75], repeat=steps * numbers)))
    return patterns.double().view(-1, steps, numbers).transpose(0, 1)


def enumerated(monkeypatch, learner, drawn, rate, **masks):
    """Gradients of each step (patterns, ...), and the weights that each step was taken with."""
    architecture, (steps, patterns, _) = learner.architecture, drawn.shape
    monkeypatch.setattr(
        "orla.engine.update.noise", lambda seeds, first, steps, *_: drawn[first : first + steps]
    )
    one = networks(architecture, models=1)
    params = {n: p.expand(patterns, *p.shape[1:]).clone() for n, p in one.items()}
    driver = catalogue.make("learner", "immediate", architecture=architecture)
    X, Y = stream(steps)
    watched = watch(driver, params, X, Y, rate=rate, observers={"it": learner}, **masks)
    return watched.series("of it"), watched.model(0)[1]


def mean(gradients):
    """Over the models, of each step."""
    return [{name: g.mean(0) for name, g in one.items()} for one in gradients]


def exact(architecture, step, used, first=0):
    """The gradients of exact RTRL with those weights, of a stream that begins at step `first`."""
    X, Y = stream(len(used))
    return oracles.dense_rtrl(step, initial(architecture), used[first:], X[first:], Y[first:])


def linearised(architecture, step, used):
    """Of each step, in NumPy: J, D {parameter: (state, *shape)}, dL/dh, (x, h, 1), readout's."""
    X, Y = stream(len(used))
    state, found = initial(architecture), []
    recurrent, error = list(architecture.recurrent_shapes()), oracles.error_of(step)
    for params, x, y in zip(used, X, Y, strict=True):
        D, J = jacrev(step, argnums=(0, 1))(params, state, x)
        h, state = state[: architecture.hidden], step(params, state, x)
        readout, cotangent = jacrev(error, argnums=(0, 1))(params, state, y)
        joined = torch.cat([x, h, torch.ones(1, dtype=torch.float64)])
        D = {name: D[name].numpy() for name in recurrent}
        readout = {n: g for n, g in readout.items() if n not in recurrent}
        found.append((J.numpy(), D, cotangent.numpy(), joined.numpy(), readout))
    return found


def flat(D):
    """(state, all recurrent parameters)."""
    return np.concatenate([d.reshape(len(d), -1) for d in D.values()], 1)


def named(gradient, D, readout):
    """A flat gradient, by parameter, with the readout's."""
    sizes = np.cumsum([d[0].size for d in D.values()])[:-1]
    parts = np.split(gradient, sizes)
    shaped = zip(D.items(), parts, strict=True)
    return {n: torch.as_tensor(g.reshape(d.shape[1:])) for (n, d), g in shaped} | readout
