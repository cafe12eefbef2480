"""Projection on principal components, or on the factors of a factor analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orla.sessions.channels import require_enough

METHODS = {"pca": "principal components", "factors": "factors"}
# A column's unique variance is at least this share of its variance, as in R's factanal.
_LEAST_UNIQUE = 0.005
_MOST_ROUNDS = 2000


@dataclass(frozen=True)
class Projection:
    """Components, or factors, of rows: (rows - `mean`) @ `weights`.

    Attributes:
        mean: (columns,), of the rows that it was fitted on.
        weights: (columns, components).
        loadings: (columns, components): what a component adds to each column. They are the weights
            of principal components; factors have others, and are estimated by their expectation.
    """

    mean: np.ndarray
    weights: np.ndarray
    loadings: np.ndarray

    @classmethod
    def fit(
        cls, rows: np.ndarray, n_components: int, where: str, method: str = "pca"
    ) -> Projection:
        """Fit to `rows` (steps, columns). Each component's loadings sum to a positive number.

        Raises:
            OrlaError: fewer columns or steps than components.
        """
        available = min(rows.shape[1], len(rows) - 1)
        require_enough(available, n_components, where, METHODS[method])
        mean = rows.mean(axis=0)
        if method == "factors":
            loadings, unique = factor_analysis(np.cov(rows.T, bias=True), n_components)
        else:
            _, _, directions = np.linalg.svd(rows - mean, full_matrices=False)
            loadings = directions[:n_components].T
        loadings = loadings * np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)
        weights = loadings
        if method == "factors":
            weights = np.linalg.solve(loadings @ loadings.T + np.diag(unique), loadings)
        return cls(mean, weights, loadings)

    def rotate(self, rotation: np.ndarray) -> Projection:
        """The same components after an orthogonal rotation (components, components)."""
        return Projection(self.mean, self.weights @ rotation, self.loadings @ rotation)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) @ self.weights


def factor_analysis(covariance: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood factor analysis: loadings (columns, factors), unique variances (columns,).

    The covariance is that of loadings @ loadings.T + diag(unique). Given the unique variances the
    loadings that maximize the likelihood are eigenvectors; both are improved in turn (Barber 2012,
    Bayesian Reasoning and Machine Learning, algorithm 21.1). Factors are in order of what they
    explain.
    """
    variance = covariance.diagonal().copy()
    silent = variance <= 0
    unique = np.where(silent, 1.0, variance)
    for _ in range(_MOST_ROUNDS):
        root = np.sqrt(unique)
        values, vectors = np.linalg.eigh(covariance / np.outer(root, root))
        above = np.sqrt(np.maximum(values[: -n_factors - 1 : -1] - 1.0, 0.0))
        loadings = root[:, None] * vectors[:, : -n_factors - 1 : -1] * above
        before = unique
        unique = np.maximum(variance - (loadings**2).sum(axis=1), _LEAST_UNIQUE * variance)
        unique[silent] = 1.0
        if np.abs(unique - before).max() <= 1e-7 * unique.max():
            break
    return loadings, unique
