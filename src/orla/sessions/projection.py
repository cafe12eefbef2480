"""Projection on principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orla.sessions.channels import require_enough


@dataclass(frozen=True)
class Projection:
    """Principal components: `weights` (columns, components), applied to rows less `mean`."""

    mean: np.ndarray
    weights: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, n_components: int, where: str) -> Projection:
        """Fit to `rows` (steps, columns). Each component's loadings sum to a positive number."""
        available = min(rows.shape[1], len(rows) - 1)
        require_enough(available, n_components, where, "principal components")
        mean = rows.mean(axis=0)
        _, _, directions = np.linalg.svd(rows - mean, full_matrices=False)
        weights = directions[:n_components].T
        signs = np.where(weights.sum(axis=0) < 0, -1.0, 1.0)
        return cls(mean, weights * signs)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) @ self.weights
