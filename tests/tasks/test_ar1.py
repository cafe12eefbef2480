import numpy as np
import pytest

from orla import catalogue
from orla.errors import OrlaError
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


def test_the_target_is_an_earlier_input():
    task = AR1(pretraining=400, adapt=200, heldout=100, window=100, delay=50, inputs=2, noise=0.1)
    for variant in task.variants():
        episode = task.episode(variant, [1, 2])
        for part in (episode.pretraining, episode.whole):
            assert np.array_equal(part.Y[:, 50:], part.X[:, :-50])
        # What is copied across the change is the input before it.
        assert np.array_equal(episode.adapt.Y[:, :50], episode.pretraining.X[:, -50:])
        assert episode.n_in == episode.n_out == 2


def test_the_variance_is_one_and_the_autocorrelation_that_of_each_part():
    # The process forgets itself in 20 and in 2 steps: 80 streams hold many times that.
    task = AR1(pretraining=1000, adapt=2000, heldout=200, rho=0.95, shifted=0.6)
    episode = task.episode("shift", range(80))
    for part, rho in (("pretraining", 0.95), ("reference", 0.95), ("adapt", 0.6)):
        X = getattr(episode, part).X[..., 0]
        assert (X**2).mean() == pytest.approx(1, abs=0.1), part
        for lag in (1, 3):
            # `adapt` needs some steps until its second moments are those of its rho.
            product = (X[:, 100 + lag :] * X[:, 100:-lag]).mean()
            assert product == pytest.approx(rho**lag, abs=0.08), (part, lag)
    # From the first step on: nothing has to settle.
    first = AR1(**LENGTHS, rho=0.999).episode("shift", range(400)).pretraining.Y[:, 0]
    assert first.var() == pytest.approx(1, abs=0.2)


def test_inputs_are_independent_of_each_other():
    X = AR1(pretraining=4000, adapt=400, inputs=2, rho=0.5).episode("shift", [1]).pretraining.X[0]
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(0, abs=0.08)


def test_white_noise_is_added_and_copied():
    quiet, noisy = (AR1(**LENGTHS, noise=s).episode("shift", range(200)) for s in (0, 0.3))
    for part in ("pretraining", "adapt", "reference"):
        for name in ("X", "Y"):
            difference = getattr(getattr(noisy, part), name) - getattr(getattr(quiet, part), name)
            assert difference.std() == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(
    "option, value",
    [("rho", 1), ("rho", -1.0), ("shifted", 0.9995), ("delay", 0), ("inputs", 0), ("noise", -1)],
)
def test_options_out_of_range_are_refused(option, value):
    with pytest.raises(OrlaError, match=f'task ar1: "{option}" must be'):
        catalogue.make("task", {"kind": "ar1", option: value})
