"""The paper's delayed sine is the task `sine` with the option `ahead`: t+50, 100, 200, 500."""

import numpy as np
import pytest

from orla import catalogue
from orla.reports import paper

DELAYS = [50, 100, 200, 500]


def delayed(ahead, **options):
    lengths = dict(pretraining=1200, adapt=1200, heldout=600)
    options = dict(frequency=0.0231, shifted=0.0317) | options
    return catalogue.make("task", {"kind": "sine", "ahead": ahead, **lengths, **options})


def later(x, frequency, ahead):
    """The value `ahead` steps later, from the present value and the one before it.

    sin(a + kw) sin w = sin a sin((k + 1) w) - sin(a - w) sin(kw), for a sine of w radians a step.
    """
    w = 2 * np.pi * frequency
    return (np.sin((ahead + 1) * w) * x[1:] - np.sin(ahead * w) * x[:-1]) / np.sin(w)


def test_these_are_the_delays_of_the_papers_table():
    assert sorted({row["delay_steps"] for row in paper.load().table("delays")}) == DELAYS


@pytest.mark.parametrize("ahead", DELAYS)
def test_the_target_continues_the_sine_of_its_part(ahead):
    for variant in ("shift", "stationary"):
        episode = delayed(ahead).episode(variant, [2, 5])
        after = 0.0317 if variant == "shift" else 0.0231
        frequencies = {"pretraining": 0.0231, "adapt": after, "heldout": after, "reference": 0.0231}
        for part, frequency in frequencies.items():
            stream = getattr(episode, part)
            for X, Y in zip(stream.X[..., 0], stream.Y[..., 0], strict=True):
                # To the last step of pretraining: its targets do not know the change.
                np.testing.assert_allclose(later(X, frequency, ahead), Y[1:], atol=1e-9)
                assert np.abs(later(X, frequency + 1e-3, ahead) - Y[1:]).max() > 0.05
