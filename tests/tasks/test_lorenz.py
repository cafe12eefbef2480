from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from orla.errors import OrlaError
from orla.tasks.synthetic import Lorenz, lorenz_trajectory

LENGTHS = dict(pretraining=2000, adapt=400, heldout=200, window=200)


def solved(start, rho, dt, steps):
    def slope(_, state):
        x, y, z = state
        return [10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z]

    times = dt * np.arange(steps + 1)
    return solve_ivp(slope, (0, times[-1]), start, t_eval=times, rtol=1e-12, atol=1e-12).y.T


@pytest.mark.parametrize(("rho", "dt"), [(28.0, 0.05), (35.0, 0.004)])
def test_the_trajectory_is_that_of_another_integrator(rho, dt):
    starts = np.array([[1.0, 2.0, 20.0], [-5.0, 3.0, 30.0]])
    steps = round(1.0 / dt)
    ours = lorenz_trajectory(starts.T, rho, dt, steps)
    for system, start in enumerate(starts):
        assert ours[:, :, system] == pytest.approx(solved(start, rho, dt, steps), abs=2e-3)
        wrong = solved(start, rho + 1, dt, steps)
        assert ours[:, :, system] != pytest.approx(wrong, abs=0.1)


def test_the_error_of_the_integration_falls_with_the_fourth_power_of_the_step(monkeypatch):
    start, errors = np.array([1.0, 2.0, 20.0]), []
    expected = solved(start, 28.0, 0.04, 10)
    for finest in (0.02, 0.01, 0.005):
        monkeypatch.setattr("orla.tasks.synthetic.FINEST", finest)
        ours = lorenz_trajectory(start[:, None], 28.0, 0.04, 10)[..., 0]
        errors.append(np.abs(ours - expected).max())
    for coarse, fine in pairwise(errors):
        assert 11 < coarse / fine < 24  # 16 where the step is halved


@pytest.fixture(scope="module")
def shift():
    """Two seeds in steps fine enough to tell slopes."""
    return Lorenz(**LENGTHS, dt=0.002).episode("shift", [3, 1])


def fitted(X):
    """Slopes of x and y as linear forms of 1, x, y, z and x z, of scaled states."""
    x, y, z = X[1:-1].T
    terms = np.stack([np.ones_like(x), x, y, z, x * z], 1)
    return np.linalg.lstsq(terms, (X[2:, :2] - X[:-2, :2]) / 0.004, rcond=None)[:2]


def test_steps_obey_the_system_with_the_rho_of_their_part(shift):
    """The scaled system is fitted back to its equations, and names the rho of each part."""
    X = shift.pretraining.X
    assert X.mean(1) == pytest.approx(np.zeros((2, 3)), abs=1e-12)
    assert X.std(1) == pytest.approx(np.ones((2, 3)), rel=1e-12)
    assert np.abs(shift.adapt.X.mean(1)).max() > 0.1
    at_28 = fitted(X[0])[0]
    # x' = 10 (y - x): the coefficient of y is 10 scale_y / scale_x; that of x z in y' the rest.
    scale_z = -at_28[4, 1] * at_28[2, 0] / 10
    for part, rho in (("pretraining", 28), ("reference", 28), ("adapt", 35), ("heldout", 35)):
        found, residual = fitted(getattr(shift, part).X[0])
        # y' = x (rho - z) - y; scaled: coefficients of x and x z give rho - mean z, and - scale z.
        assert residual[1] / len(getattr(shift, part)) < 1e-4
        assert found[2, 1] == pytest.approx(-1, abs=0.01)
        # Both share mean and scales, so the coefficients of x differ by the change of rho.
        ratio = (found[1, 1] - at_28[1, 1]) / -at_28[4, 1]
        assert ratio == pytest.approx((rho - 28) / scale_z, abs=0.02)


@pytest.mark.parametrize("options", [{"rho": 1e7}, {"shifted": 1e7}, {"rho": 5.0}])
def test_a_system_that_leaves_all_bounds_or_stands_still_is_refused(options):
    words = "stands still" if options == {"rho": 5.0} else "leaves all bounds"
    with pytest.raises(OrlaError, match=words):
        Lorenz(**LENGTHS | {"pretraining": 200}, **options).episode("shift", [1])
