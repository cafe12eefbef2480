"""A small synthetic drift that conditions are run on, and their rows by plain loops."""

import dataclasses

import numpy as np
import torch
from harness import LEARNERS, make_network

from orla import catalogue
from orla.study.sweep import sweep
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

WINDOW, STEPS, ADAPT, SELECTION, SEEDS = 20, 280, 200, 160, 2
HELDOUT, SELECTING = slice(ADAPT, STEPS), slice(SELECTION, ADAPT)
NETWORK = make_network("rnn", hidden=6)
GRID = [0.01, 0.03, 0.1]
MEASURES = ["validation_rolling_error", "validation_error", "adapt_error", "heldout_error"]
MEASURES += ["update_ratio", "r2_weighted"]
KEYS = {
    "architecture": "rnn",
    "learner": "immediate",
    "optimizer": "sgd",
    "precision": "float64",
    "split": "50-50",
}


def session(rng, steps, readout):
    X = rng.normal(size=(steps, 3))
    memory = X + 0.6 * np.vstack([np.zeros(3), X[:-1]])
    return Stream(X, memory @ readout + 0.1 * rng.normal(size=(steps, 2)))


def make_episode(stream, adapt=ADAPT, **options):
    """Of a session B, of which `adapt` steps are adapted to."""
    return Episode(
        adapt=stream.slice_steps(slice(0, adapt)),
        heldout=stream.slice_steps(slice(adapt, None)),
        selection_cut=options.pop("selection_cut", SELECTION),
        n_out=2,
        window=WINDOW,
        **options,
    )


def on(study, stream, **options):
    """The study on another session B."""
    return dataclasses.replace(study, episode=make_episode(stream, **options))


def changed(study, part, size=3.0):
    """The study with session B's targets moved in one part."""
    whole = study.episode.whole
    Y = whole.Y.copy()
    Y[part] += size
    b, old = Stream(whole.X, Y), study.episode
    episode = dataclasses.replace(
        old, adapt=b.slice_steps(slice(0, ADAPT)), heldout=b.slice_steps(HELDOUT)
    )
    return dataclasses.replace(study, episode=episode)


def learning(study, name):
    learner = catalogue.make("learner", LEARNERS.get(name, name), architecture=NETWORK)
    return dataclasses.replace(
        study,
        keys=study.keys | {"learner": name},
        loop=dataclasses.replace(study.loop, learner=learner),
    )


def by_hand(study, seed, rate, stop, stream=None):
    """Plain SGD with a detached state on the first `stop` steps, weights frozen after: outputs.

    A step that is not scored teaches nothing; where a trial starts, the state is zero.
    """
    stream = stream or study.episode.whole
    X, Y = (torch.as_tensor(a) for a in (stream.X, stream.Y))
    scored = np.ones(len(X), bool) if stream.scored is None else stream.scored
    starts = np.zeros(len(X), bool) if stream.starts is None else stream.starts
    params = {n: p[seed].clone().requires_grad_() for n, p in study.networks.items()}
    h, outputs = torch.zeros(6, dtype=torch.float64), []
    for t in range(len(X)):
        h = h.detach() * (not starts[t])
        h = torch.tanh(params["W_ih"] @ X[t] + params["W_hh"] @ h + params["b_h"])
        output = params["W_out"] @ h + params["b_out"]
        outputs.append(output.detach().numpy())
        if t < stop and scored[t]:
            gradients = torch.autograd.grad(((output - Y[t]) ** 2).mean(), params.values())
            params = {
                n: (p - rate * g).detach().requires_grad_()
                for (n, p), g in zip(params.items(), gradients, strict=True)
            }
    return np.array(outputs)


def rolling(study, seed, rate, steps=ADAPT):
    """Rolling-origin validation of the first `steps`, from the definition in docs/protocol.md."""
    Y, n, errors = study.episode.whole.Y, steps // WINDOW, []
    for k in range(n // 2 + 1, n) if n > 2 else [1]:
        outputs = by_hand(study, seed, rate, k * WINDOW)
        errors.append(mse(outputs, Y, slice(k * WINDOW, min(k + 3, n) * WINDOW)))
    return np.mean(errors)


def mse(outputs, Y, part):
    return ((outputs[part] - Y[part]) ** 2).mean()


def table(name, study, rates, growth=0, stable_windows=1, **options):
    """A wide table of a sweep."""
    return sweep(study, rates, growth, stable_windows=stable_windows, **options).wide_tables[name]
