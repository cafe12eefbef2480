"""Components and their alignment, held to statsmodels, a planted rotation, and another form."""

import numpy as np
import pytest
from scipy.linalg import polar
from scipy.stats import ortho_group
from statsmodels.multivariate.factor import Factor

from orla.errors import OrlaError
from orla.sessions.input_transform import (
    Projection,
    Scaling,
    factor_analysis,
    rotation_b_onto_a,
    stable_channels,
)

CHANNELS = 24


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    loadings = ortho_group.rvs(CHANNELS, random_state=3)[:3] * 5.0
    noise = 0.5 * rng.standard_normal((2000, CHANNELS))
    return rng.standard_normal((2000, 3)) @ loadings + noise + 5.0


def test_the_first_component_is_the_direction_in_which_rows_vary_about_their_mean():
    projection = Projection.fit(np.array([[10.0, -2.0], [10.0, 1.0], [10.0, 4.0]]), 1, "x")
    np.testing.assert_allclose(projection.weights, [[0.0], [1.0]], atol=1e-12)
    np.testing.assert_allclose(projection(np.array([[12.0, 5.0]])), [[4.0]])


def test_too_many_components_and_a_constant_column_are_refused(rows):
    with pytest.raises(OrlaError, match="x: 4 principal components, fewer than the 5 inputs"):
        Projection.fit(rows[:5], 5, "x")
    columns = np.column_stack([np.arange(50.0), np.full(50, 0.1)])
    with pytest.raises(OrlaError, match=r"session A: y is constant over the pretraining part"):
        Scaling.fit(columns, ["x", "y"], "session A", "leave it out")
    columns[40:, 1] = 3.0
    Scaling.fit(columns, ["x", "y"], "session A", "")


def test_factor_analysis_is_that_of_statsmodels(rows):
    rows = rows[:, :8]
    loadings, unique = factor_analysis(np.cov(rows.T, bias=True), 3)
    fit = Factor(rows, n_factor=3, method="ml").fit(rng=0)
    sd = rows.std(0)
    theirs = sd[:, None] * fit.loadings
    np.testing.assert_allclose(loadings @ loadings.T, theirs @ theirs.T, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(unique, fit.uniqueness * sd**2, rtol=1e-2)
    # At the maximum of the likelihood its gradient by the unique variances is zero.
    covariance = loadings @ loadings.T + np.diag(unique)
    inverse = np.linalg.inv(covariance)
    gradient = inverse @ (covariance - np.cov(rows.T, bias=True)) @ inverse
    np.testing.assert_allclose(gradient.diagonal(), 0.0, atol=1e-4)


def test_factors_are_their_expectation_and_a_silent_channel_has_no_part_in_them(rows):
    projection = Projection.fit(rows, 3, "A", "factors")
    loadings, unique = factor_analysis(np.cov(rows.T, bias=True), 3)
    loadings *= np.where(loadings.sum(0) < 0, -1.0, 1.0)
    # By the other form of the posterior mean: (I + C' R^-1 C)^-1 C' R^-1 (x - mean).
    scaled = loadings.T / unique
    expected = np.linalg.solve(np.eye(3) + scaled @ loadings, scaled @ (rows - rows.mean(0)).T).T
    np.testing.assert_allclose(projection(rows), expected, atol=1e-9)
    silent = np.where(np.arange(CHANNELS) == 5, 2.0, rows)
    weights = Projection.fit(silent, 3, "A", "factors").weights
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights[5], 0.0, atol=1e-12)


def test_a_planted_rotation_is_found_and_unstable_channels_are_told():
    rng, unstable = np.random.default_rng(0), np.arange(0, CHANNELS, 4)
    on_a, turn = rng.standard_normal((CHANNELS, 3)), ortho_group.rvs(3, random_state=4)
    on_b = on_a @ turn.T
    np.testing.assert_allclose(rotation_b_onto_a(on_a, on_b), turn, atol=1e-12)
    noisy = on_b + 0.1 * rng.standard_normal(on_b.shape)
    np.testing.assert_allclose(rotation_b_onto_a(on_a, noisy), polar(noisy.T @ on_a)[0], atol=1e-9)
    on_b[unstable] = on_b[np.roll(unstable, 1)]
    stable = np.setdiff1d(np.arange(CHANNELS), unstable)
    assert np.array_equal(stable_channels(on_a, on_b, len(stable)), stable)
    np.testing.assert_allclose(rotation_b_onto_a(on_a[stable], on_b[stable]), turn, atol=1e-12)
    assert np.abs(rotation_b_onto_a(on_a, on_b) - turn).max() > 0.01
    # A channel without loadings on one day is not stable, however little it moves.
    on_a[stable[0]] = on_b[stable[0]] = 0.001
    assert np.array_equal(stable_channels(on_a, on_b, CHANNELS)[:3], [0, 2, 3])
