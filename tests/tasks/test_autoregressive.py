"""Copy tasks against plain recursions and sums, and what memory the narrow-band one needs."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov, toeplitz

from orla import catalogue
from orla.tasks.autoregressive import AR1, AR2

LENGTHS = dict(pretraining=60, adapt=40, heldout=20, window=20)
STEPS, SEEDS = 120, (3, 8)
PAPERS = 0.5, 0.65  # the paper's errors before the shift, at its longest delay


def normals(name, seed, *shape):
    key = int.from_bytes(name.encode())
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
    return draw.standard_normal(shape)


def weighted(e, rho, shifted, at):
    """The process as a sum over its innovations: a matrix of weights, and no recursion.

    Step t has e_k with what is left of it: the product of the rho of the steps after k, up to t.
    """
    rhos = np.where(np.arange(len(e)) < at, rho, shifted)
    enters, weights = np.append(1.0, np.sqrt(1 - rhos[1:] ** 2)), np.zeros((len(e), len(e)))
    for t in range(len(e)):
        left = np.cumprod([1.0, *rhos[t:0:-1]])[::-1]
        weights[t, : t + 1] = enters[: t + 1] * left
    return weights @ e


@pytest.mark.parametrize(
    "options",
    [
        {"delay": 7, "inputs": 3, "rho": 0.3, "shifted": 0.99},
        {"delay": 50, "inputs": 2, "noise": 0.4, "rho": -0.6, "shifted": 0.0},
    ],
)
@pytest.mark.parametrize("variant", ["shift", "stationary"])
def test_streams_of_ar1_are_those_of_plain_numpy(options, variant):
    task = AR1(**LENGTHS, **options)
    episode = task.episode(variant, SEEDS)
    at = task.delay + task.pretraining
    for place, seed in enumerate(SEEDS):
        both = normals("ar1", seed, task.delay + STEPS, 2, task.inputs)
        e, noise = both[:, 0], task.noise * both[:, 1]
        shifted = task.shifted if variant == "shift" else task.rho
        values = weighted(e, task.rho, shifted, at) + noise
        parts = {"pretraining": slice(0, 60), "adapt": slice(60, 100), "heldout": slice(100, 120)}
        for name, part in parts.items():
            stream = getattr(episode, name)
            X, Y = values[task.delay :][part], values[: -task.delay][part]
            np.testing.assert_allclose(stream.X[place], X, atol=1e-12)
            np.testing.assert_allclose(stream.Y[place], Y, atol=1e-12)
        reference = weighted(e, task.rho, task.rho, at) + noise
        np.testing.assert_allclose(episode.reference.X[place], reference[at:], atol=1e-12)
        # The control: a process that changes a step later is noticed.
        wrong = weighted(e, task.rho, shifted, at + 1) + noise
        late = np.abs(wrong[at:] - episode.whole.X[place]).max()
        assert (late > 1e-3) == (variant == "shift")


def companion(radius, frequency):
    """x_t and x_{t-1} from the two before, and the innovations' share for a variance of 1."""
    w = 2 * np.pi * frequency
    step = np.array([[2 * radius * np.cos(w), -(radius**2)], [1.0, 0.0]])
    variance = solve_discrete_lyapunov(step, np.diag([1.0, 0.0]))[0, 0]
    return step, 1 / np.sqrt(variance)


@pytest.mark.parametrize("variant", ["shift", "stationary"])
@pytest.mark.parametrize("options", [{"delay": 7}, {"delay": 31, "radius": 0.9, "shifted": 0.21}])
def test_streams_of_ar2_are_a_plain_recursion_in_each_part(options, variant):
    task = AR2(**LENGTHS, **options)
    episode = task.episode(variant, SEEDS)
    for place, seed in enumerate(SEEDS):
        e = normals("ar2", seed, 2 + task.delay + STEPS)[2 + task.delay :]
        streams = [episode.pretraining, episode.adapt, episode.heldout]
        x = np.concatenate([stream.X[place, :, 0] for stream in streams])
        after = task.shifted if variant == "shift" else task.frequency
        for part, frequency in ((slice(0, 60), task.frequency), (slice(60, 120), after)):
            step, share = companion(task.radius, frequency)
            inside, innovations = x[part], e[part]
            # From the third step on: the first two of a part are its start.
            expected = step[0, 0] * inside[1:-1] + step[0, 1] * inside[:-2]
            np.testing.assert_allclose(inside[2:], expected + share * innovations[2:], atol=1e-9)
        reference = episode.reference.X[place, :, 0]
        assert np.array_equal(reference, x[60:]) == (variant == "stationary")


def test_the_phase_is_continuous_and_the_variance_one_at_every_step():
    task = AR2(pretraining=40, adapt=80, heldout=40, window=40, delay=3)
    episode = task.episode("shift", range(3000))
    for part in ("pretraining", "adapt", "heldout", "reference"):
        variance = getattr(episode, part).X[..., 0].var(0)
        assert variance.mean() == pytest.approx(1, abs=0.05), part
        assert np.abs(variance - 1).max() < 0.15, part
    # One step of the new frequency at the change, less than a jump to any other phase.
    last, first = episode.pretraining.X[:, -1, 0], episode.adapt.X[:, 0, 0]
    turn = 2 * np.pi * task.shifted
    assert np.mean(last * first) == pytest.approx(np.cos(2 * turn - np.pi * 2 * 0.04775), abs=0.06)


def least_error(radius, frequency, delay, held):
    """Of the best linear predictor of x_{t-delay} from x_t .. x_{t-held}: the normal equations."""
    step, share = companion(radius, frequency)
    state, covariance = solve_discrete_lyapunov(step, np.diag([share**2, 0.0])), []
    for _ in range(delay + 1):  # of lags 0 to `delay`, by powers of the companion matrix
        covariance.append(state[0, 0])
        state = step @ state
    target = np.array(covariance)[delay - np.arange(held + 1)]
    weights = np.linalg.solve(toeplitz(covariance[: held + 1]), target)
    return 1 - weights @ target


def formula(radius, frequency, k):
    """e(k) of the docstring."""
    w, j = 2 * np.pi * frequency, np.arange(k)
    psi = radius**j * np.sin((j + 1) * w) / np.sin(w)
    return companion(radius, frequency)[1] ** 2 * (psi**2).sum()


@pytest.mark.parametrize(
    ("delay", "frequency"), [(50, AR2().shifted), (500, AR2().frequency), (500, AR2().shifted)]
)
def test_the_least_error_is_that_of_the_docstring(delay, frequency):
    radius = AR2().radius
    for held in (1, 2, 20):
        found = least_error(radius, frequency, delay, held)
        assert found == pytest.approx(formula(radius, frequency, delay - held), abs=2e-5)
        assert found == pytest.approx(1 - radius ** (2 * (delay - held)), abs=0.01)
    # Memory of the whole delay leaves nothing, and less of it leaves more.
    assert least_error(radius, frequency, delay, delay) == pytest.approx(0, abs=1e-6)
    errors = [least_error(radius, frequency, delay, held) for held in (1, 10, 25, 49)]
    assert errors == sorted(errors, reverse=True)


def test_without_memory_the_longest_delay_has_the_papers_error_before_the_shift():
    frequency, (least, most) = AR2().frequency, PAPERS
    found = least_error(AR2().radius, frequency, 500, 1)
    assert least < found < most and found == pytest.approx(0.574, abs=5e-4)
    # Controls: other radii are outside, and a pure sine needs no memory at any delay.
    assert least_error(0.998, frequency, 500, 1) > most
    assert least_error(0.9997, frequency, 500, 1) < least
    sine = catalogue.make("task", {"kind": "sine", "ahead": 500}).episode("stationary", [1])
    x, y = sine.pretraining.X[0, :, 0], sine.pretraining.Y[0, 1:, 0]
    past = np.stack([x[1:], x[:-1]], axis=1)
    weights, *_ = np.linalg.lstsq(past, y, rcond=None)
    assert np.mean((y - past @ weights) ** 2) / np.mean(y**2) < 1e-9
