import numpy as np
import pytest

from orla.tasks.synthetic import Sine


def later(x, frequency, ahead):
    """The value `ahead` steps later, from the present value and the one before it.

    sin(a + kw) sin w = sin a sin((k + 1) w) - sin(a - w) sin(kw), for a sine of w radians a step.
    """
    w = 2 * np.pi * frequency
    return (np.sin((ahead + 1) * w) * x[1:] - np.sin(ahead * w) * x[:-1]) / np.sin(w)


@pytest.mark.parametrize("ahead", [1, 50, 500])
def test_the_target_continues_the_sine_of_its_part(ahead):
    lengths = dict(pretraining=1200, adapt=1200, heldout=600)
    task = Sine(ahead=ahead, frequency=0.0231, shifted=0.0317, **lengths)
    for variant in ("shift", "stationary"):
        episode = task.episode(variant, [2, 5])
        after = 0.0317 if variant == "shift" else 0.0231
        frequencies = {"pretraining": 0.0231, "adapt": after, "heldout": after, "reference": 0.0231}
        for part, frequency in frequencies.items():
            stream = getattr(episode, part)
            for X, Y in zip(stream.X[..., 0], stream.Y[..., 0], strict=True):
                # To the last step of pretraining: its targets do not know the change.
                np.testing.assert_allclose(later(X, frequency, ahead), Y[1:], atol=1e-9)
                # Inputs are of that frequency too.
                np.testing.assert_allclose(later(X, frequency, 1)[:-1], X[2:], atol=1e-9)
                assert np.abs(later(X, frequency + 1e-3, ahead) - Y[1:]).max() > 1e-3


def test_variance_is_one_and_phases_are_spread():
    X = Sine(pretraining=2000).episode("shift", range(40)).pretraining.X[..., 0]
    assert X.var(1) == pytest.approx(np.ones(40), rel=1e-12)
    phases = np.angle(X @ np.exp(-2j * np.pi * 0.05 * np.arange(2000)))
    assert abs(np.exp(1j * phases).mean()) < 0.4
    assert len(np.unique(phases.round(6))) == 40


def test_the_curve_does_not_jump_where_the_frequency_changes():
    # No whole number of cycles in pretraining: the phase there is none of the first step's.
    episode = Sine(pretraining=2000, frequency=0.05015).episode("shift", [5])
    around = np.concatenate([episode.pretraining.X[0, -5:, 0], episode.adapt.X[0, :5, 0]])
    # A sine of f cycles a step obeys x[t+1] + x[t-1] = 2 cos(2 pi f) x[t].
    before, after = (2 * np.cos(2 * np.pi * f) for f in (0.05015, 0.075))
    sums = around[2:] + around[:-2]
    assert sums[:4] == pytest.approx(before * around[1:5], abs=1e-10)
    assert sums[5:] == pytest.approx(after * around[6:9], abs=1e-10)
    # At the step where it changes, one side has the old frequency and one the new.
    assert sums[4] != pytest.approx(before * around[5], abs=1e-3)
