from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from orla.errors import OrlaError
from orla.tasks.lorenz import Lorenz, trajectory

LENGTHS = dict(pretraining=2000, adapt=400, heldout=200, window=200)


def solved(start, rho, dt, steps):
    def slope(_, state):
        x, y, z = state
        return [10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z]

    times = dt * np.arange(steps + 1)
    return solve_ivp(slope, (0, times[-1]), start, t_eval=times, rtol=1e-12, atol=1e-12).y.T


@pytest.mark.parametrize("rho", [28.0, 35.0])
@pytest.mark.parametrize("dt", [0.004, 0.05])
def test_the_trajectory_is_that_of_another_integrator(rho, dt):
    starts = np.array([[1.0, 2.0, 20.0], [-5.0, 3.0, 30.0]])
    steps = round(1.0 / dt)
    ours = trajectory(starts.T, rho, dt, steps)
    for system, start in enumerate(starts):
        expected = solved(start, rho, dt, steps)
        assert ours[:, :, system] == pytest.approx(expected, abs=2e-3)
        wrong = solved(start, rho + 1, dt, steps)
        assert ours[:, :, system] != pytest.approx(wrong, abs=0.1)


def test_the_error_of_the_integration_falls_with_the_fourth_power_of_the_step(monkeypatch):
    start = np.array([1.0, 2.0, 20.0])
    expected = solved(start, 28.0, 0.04, 10)
    errors = []
    for finest in (0.02, 0.01, 0.005):
        monkeypatch.setattr("orla.tasks.lorenz.FINEST", finest)
        errors.append(np.abs(trajectory(start[:, None], 28.0, 0.04, 10)[..., 0] - expected).max())
    for coarse, fine in pairwise(errors):
        assert 11 < coarse / fine < 24  # 16 where the step is halved


@pytest.fixture(scope="module")
def shift():
    return Lorenz(**LENGTHS).episode("shift", [1, 2])


def test_scaling_is_fitted_on_pretraining_alone(shift):
    X = shift.pretraining.X
    assert X.mean(1) == pytest.approx(np.zeros((2, 3)), abs=1e-12)
    assert X.std(1) == pytest.approx(np.ones((2, 3)), rel=1e-12)
    assert np.abs(shift.adapt.X.mean(1)).max() > 0.1
    # z lies about rho - 1 - ...: it rises by 7 or so of 8.6 where rho does.
    assert (shift.adapt.X[:, :, 2].mean(1) > 0.5).all()


def test_steps_obey_the_system_with_the_rho_of_their_part(shift):
    """The scaled system is fitted back to its equations, and names the rho of each part."""
    at_28 = None
    fine = Lorenz(**LENGTHS, dt=0.002).episode("shift", [3])
    for part, rho in (("pretraining", 28), ("reference", 28), ("adapt", 35), ("heldout", 35)):
        X = getattr(fine, part).X[0]
        slope = (X[2:] - X[:-2]) / 0.004
        x, y, z = X[1:-1].T
        terms = np.stack([np.ones_like(x), x, y, z, x * z], 1)
        # y' = x (rho - z) - y; scaled: coefficients of x and x z give rho - mean z, and - scale z.
        found, residual, *_ = np.linalg.lstsq(terms, slope[:, 1], rcond=None)
        assert residual[0] / len(x) < 1e-4
        assert found[2] == pytest.approx(-1, abs=0.01)
        at_28 = found if at_28 is None else at_28
        # Both share mean and scales, so the coefficients of x differ by the change of rho.
        ratio = (found[1] - at_28[1]) / -at_28[4]
        assert ratio == pytest.approx((rho - 28) / scale_z(fine), abs=0.02)


def scale_z(episode):
    """Standard deviation of z in pretraining: z' = x y - 8/3 z has no other constant with it."""
    X = episode.pretraining.X[0]
    slope = (X[2:] - X[:-2]) / 0.004
    x, y, z = X[1:-1].T
    terms = np.stack([np.ones_like(x), x, y, z, x * z], 1)
    on_y = np.linalg.lstsq(terms, slope[:, 1], rcond=None)[0]
    on_x = np.linalg.lstsq(terms, slope[:, 0], rcond=None)[0]
    # x' = 10 (y - x): the coefficient of y is 10 scale_y / scale_x.
    return -on_y[4] * on_x[2] / 10


@pytest.mark.parametrize("noise", [0, 0.2])
def test_the_state_does_not_jump_where_rho_changes(noise):
    episode = Lorenz(**LENGTHS, noise=noise).episode("shift", [1, 2])
    for seed in (0, 1):
        last, first = episode.pretraining.Y[seed, -1], episode.adapt.X[seed, 0]
        assert first.tolist() == last.tolist()


@pytest.mark.parametrize("options", [{"rho": 1e7}, {"shifted": 1e7}])
def test_a_system_that_cannot_be_integrated_is_refused(options):
    with pytest.raises(OrlaError, match="leaves all bounds"):
        Lorenz(**LENGTHS, **options).episode("shift", [1])


def test_a_system_that_stands_still_is_refused():
    with pytest.raises(OrlaError, match="stands still"):
        Lorenz(**LENGTHS, rho=5.0).episode("shift", [1])
