import numpy as np
import pytest

from orla.tasks.sine import Sine

LENGTHS = dict(pretraining=2000, adapt=1000, heldout=1000, window=200)


def frequency(values):
    """Cycles a step at the peak of the spectrum, to a twentieth of a bin or so."""
    spectrum = np.abs(np.fft.rfft(values * np.hanning(len(values)), 64 * len(values)))
    return np.fft.rfftfreq(64 * len(values))[spectrum.argmax()]


@pytest.mark.parametrize("options", [{}, {"frequency": 0.11, "shifted": 0.03, "noise": 0.2}])
def test_the_frequency_changes_where_pretraining_ends(options):
    task = Sine(**LENGTHS, **options)
    shift, stationary = (task.episode(v, [1]) for v in ("shift", "stationary"))
    for part in (shift.pretraining, shift.reference, stationary.adapt, stationary.heldout):
        assert frequency(part.X[0, :, 0]) == pytest.approx(task.frequency, abs=1e-4)
        assert frequency(part.Y[0, :, 0]) == pytest.approx(task.frequency, abs=1e-4)
    for part in (shift.adapt, shift.heldout):
        assert frequency(part.X[0, :, 0]) == pytest.approx(task.shifted, abs=1e-4)
        assert frequency(part.Y[0, :, 0]) == pytest.approx(task.shifted, abs=1e-4)


def test_variance_is_one_and_phases_are_spread():
    X = Sine(**LENGTHS).episode("shift", range(40)).pretraining.X[..., 0]
    assert X.var(1) == pytest.approx(np.ones(40), rel=1e-12)
    phases = np.angle(X @ np.exp(-2j * np.pi * 0.05 * np.arange(2000)))
    assert abs(np.exp(1j * phases).mean()) < 0.4
    assert len(np.unique(phases.round(6))) == 40


def test_the_curve_does_not_jump_where_the_frequency_changes():
    # No whole number of cycles in pretraining: the phase there is none of the first step's.
    episode = Sine(**LENGTHS, frequency=0.05015).episode("shift", [5])
    around = np.concatenate([episode.pretraining.X[0, -5:, 0], episode.adapt.X[0, :5, 0]])
    # A sine of f cycles a step obeys x[t+1] + x[t-1] = 2 cos(2 pi f) x[t].
    before, after = (2 * np.cos(2 * np.pi * f) for f in (0.05015, 0.075))
    sums = around[2:] + around[:-2]
    assert sums[:4] == pytest.approx(before * around[1:5], abs=1e-10)
    assert sums[5:] == pytest.approx(after * around[6:9], abs=1e-10)
    # At the step where it changes, one side has the old frequency and one the new.
    assert sums[4] != pytest.approx(before * around[5], abs=1e-3)
