import numpy as np
import pytest

from orla.tasks.ar1 import AR1

LENGTHS = dict(pretraining=30, adapt=20, heldout=10, window=10)
STEPS = 60


def drawn(seed, delay, inputs):
    """Innovations and white noise of a seed: (delay + steps, inputs) each."""
    key = int.from_bytes(b"ar1")
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
    both = draw.standard_normal((delay + STEPS, 2, inputs))
    return both[:, 0], both[:, 1]


def weighted(e, rho, shifted, at):
    """The process as a sum over its innovations: a matrix of weights, and no recursion.

    Step t has e_k with what is left of it: the product of the rho of the steps after k, up to t.
    """
    rhos = np.where(np.arange(len(e)) < at, rho, shifted)
    weights = np.zeros((len(e), len(e)))
    for t in range(len(e)):
        for k in range(t + 1):
            enters = np.sqrt(1 - rhos[k] ** 2) if k else 1.0
            weights[t, k] = enters * np.prod(rhos[k + 1 : t + 1])
    return weights @ e


@pytest.mark.parametrize(
    "options",
    [
        {"delay": 7},
        {"delay": 7, "inputs": 3, "rho": 0.3, "shifted": 0.99},
        {"delay": 50, "inputs": 2, "noise": 0.4, "rho": -0.6, "shifted": 0.0},
    ],
)
@pytest.mark.parametrize("variant", ["shift", "stationary"])
def test_streams_are_those_of_plain_numpy(options, variant):
    task = AR1(**LENGTHS, **options)
    episode = task.episode(variant, [3, 8])
    at = task.delay + task.pretraining
    for place, seed in enumerate((3, 8)):
        e, white = drawn(seed, task.delay, task.inputs)
        shifted = task.shifted if variant == "shift" else task.rho
        values = weighted(e, task.rho, shifted, at) + task.noise * white
        wrong = weighted(e, task.rho, shifted, at + 1) + task.noise * white
        parts = {"pretraining": slice(0, 30), "adapt": slice(30, 50), "heldout": slice(50, 60)}
        for name, part in parts.items():
            stream = getattr(episode, name)
            X, Y = values[task.delay :][part], values[: -task.delay][part]
            np.testing.assert_allclose(stream.X[place], X, atol=1e-12)
            np.testing.assert_allclose(stream.Y[place], Y, atol=1e-12)
        reference = weighted(e, task.rho, task.rho, at) + task.noise * white
        np.testing.assert_allclose(episode.reference.X[place], reference[at:], atol=1e-12)
        # The control: a process that changes a step later is noticed.
        late = np.abs(wrong[at:] - episode.whole.X[place]).max()
        assert (late > 1e-3) == (variant == "shift")
