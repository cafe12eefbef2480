"""How bins become a network's inputs, as plain data: scaling, components, and their alignment."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import scipy  # its rooms load when they are first used

from orla.errors import OrlaError

TRANSFORMS = {"sqrt": np.sqrt, "absolute": np.abs, "none": np.float64}
_CONSTANT = 1e-12
METHODS = {"pca": "principal components", "factors": "factors"}
ALIGNMENTS = ("procrustes", "aligned_factors")
# A column's unique variance is at least this share of its variance, as in R's factanal.
_LEAST_UNIQUE = 0.005
_MOST_ROUNDS = 2000
# Channels whose loadings are shorter than this say nothing of the factors.
_LEAST_LOADING = 0.01


@dataclass(frozen=True)
class InputTransform:
    """Inputs of bins: the transform of some columns, times `weights`, plus `offset`.

    Attributes:
        transform: one of `TRANSFORMS`.
        channels: names or numbers of the recording's columns, in their order.
        columns: numbers of those that inputs are made of.
        weights, offset: (columns, inputs) and (inputs,).
    """

    transform: str
    channels: list[str | int]
    columns: np.ndarray
    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, bins: np.ndarray) -> np.ndarray:
        """Inputs (..., inputs) of bins (..., channels)."""
        return TRANSFORMS[self.transform](bins[..., self.columns]) @ self.weights + self.offset

    def select_inputs(self, inputs: np.ndarray) -> Self:
        """The transform to some of the inputs, by their numbers."""
        return replace(self, weights=self.weights[:, inputs], offset=self.offset[inputs])

    def to_record(self) -> dict[str, Any]:
        """The transform as JSON can hold it."""
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in asdict(self).items()}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """The transform of a record that `to_record` made."""
        arrays = {name: np.asarray(record[name]) for name in ("columns", "weights", "offset")}
        return cls(record["transform"], record["channels"], **arrays)


@dataclass(frozen=True)
class Scaling:
    """z-scores of columns: their mean and standard deviation over A's pretraining part."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, names: Sequence[str], where: str, mend: str) -> Self:
        """Fit to rows (steps, columns); `mend` is what may be done where one is constant."""
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        constant = np.flatnonzero(~(sd > _CONSTANT * np.maximum(1.0, np.abs(mean))))
        if constant.size:
            raise OrlaError(
                f"{where}: {names[constant[0]]} is constant over the pretraining part, so it "
                f"cannot be z-scored; {mend}, or check the recording"
            )
        return cls(mean, sd)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.sd


def require_enough(available: int, count: int, where: str, what: str) -> None:
    """Refuse fewer of `what` than the inputs asked for."""
    if available < count:
        raise OrlaError(
            f"{where}: {available} {what}, fewer than the {count} inputs asked for; lower "
            "features.count"
        )


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
    def fit(cls, rows: np.ndarray, n_components: int, where: str, method: str = "pca") -> Self:
        """Fit to `rows` (steps, columns). Each component's loadings sum to a positive number."""
        available = min(rows.shape[1], len(rows) - 1)
        require_enough(available, n_components, where, METHODS[method])
        mean, unique = rows.mean(axis=0), None
        if method == "factors":
            loadings, unique = factor_analysis(np.cov(rows.T, bias=True), n_components)
        else:
            loadings = np.linalg.svd(rows - mean, full_matrices=False)[2][:n_components].T
        weights = loadings = loadings * np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)
        if unique is not None:
            weights = np.linalg.solve(loadings @ loadings.T + np.diag(unique), loadings)
        return cls(mean, weights, loadings)

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


def rotation_b_onto_a(loadings_a: np.ndarray, loadings_b: np.ndarray) -> np.ndarray:
    """The orthogonal matrix by which loadings of B come nearest to those of A.

    Both are (channels, components), row i of one channel (Schoenemann 1966, Psychometrika 31:1).
    """
    return scipy.linalg.orthogonal_procrustes(loadings_b, loadings_a)[0]


def stable_channels(loadings_a: np.ndarray, loadings_b: np.ndarray, count: int) -> np.ndarray:
    """Rows of the channels whose loadings changed least, in ascending order.

    Of all channels with loadings on both days the one that lies farthest from its place on A, after
    the best rotation of those that are left, is taken out, until `count` are left (Degenhart et al.
    2020, Nature Biomedical Engineering 4:672).
    """
    length = np.minimum(*(np.linalg.norm(rows, axis=1) for rows in (loadings_a, loadings_b)))
    rows = np.flatnonzero(length >= _LEAST_LOADING)
    while len(rows) > count:
        a, b = loadings_a[rows], loadings_b[rows]
        distance = np.linalg.norm(b @ rotation_b_onto_a(a, b) - a, axis=1)
        rows = np.delete(rows, distance.argmax())
    return rows


def align_b_on_stable_pairs(
    projection_a: Projection,
    projection_b: Projection,
    pairs: np.ndarray,
    method: str,
    stable: int | float,
    where: str,
) -> tuple[Projection, np.ndarray]:
    """B's components turned onto A's, and the rows of `pairs` that the rotation is fitted on.

    `pairs` (channels, 2) are columns of A and of B that are one channel; "aligned_factors" takes
    `stable` of them, a number or a fraction.
    """
    components, rows = projection_a.loadings.shape[1], np.arange(len(pairs))
    a, b = projection_a.loadings[pairs[:, 0]], projection_b.loadings[pairs[:, 1]]
    require_enough(len(pairs), components, where, "channels that both sessions have")
    if method == "aligned_factors":
        count = stable if isinstance(stable, int) else round(stable * len(pairs))
        if count > len(pairs):
            raise OrlaError(
                f"{where}: features.stable is {count} of {len(pairs)} channels that both sessions "
                "have; lower it"
            )
        rows = stable_channels(a, b, count)
        if len(rows) < components:
            raise OrlaError(
                f"{where}: {len(rows)} stable channels, fewer than the {components} factors that "
                "they align; lower features.count, or raise features.stable"
            )
    turn = rotation_b_onto_a(a[rows], b[rows])
    weights, loadings = projection_b.weights @ turn, projection_b.loadings @ turn
    return Projection(projection_b.mean, weights, loadings), rows
