"""Directions and sizes of a model's gradients, one row a window."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

PAST, IMMEDIATE, UPDATE = "window's g_past of ", "window's g_imm of ", "window's update of "
"""Begin the names of the series with a window's gradients and updates, which a parameter's ends."""


@dataclass(frozen=True, eq=False)
class Windows:
    """One model's g_past and g_imm, and its summed updates, (windows, numbers) each.

    places: Of each parameter, the numbers that are its own, bool (numbers,).
    """

    past_gradients: np.ndarray
    immediate_gradients: np.ndarray
    update: np.ndarray
    parameter_masks: Mapping[str, np.ndarray]

    @property
    def usable(self) -> bool:
        """Whether there is a window, and every number is finite."""
        rows = [self.past_gradients, self.immediate_gradients, self.update]
        return len(rows[0]) > 0 and bool(np.isfinite(rows).all())

    def parameter_mask(self, name: str) -> np.ndarray:
        """Mask (numbers,), bool, of a parameter; in a stack of that name in each layer."""
        masks = [p for n, p in self.parameter_masks.items() if n.partition(".")[0] == name]
        return np.any([np.zeros(self.past_gradients.shape[1], bool), *masks], axis=0)

    @cached_property
    def u1(self) -> np.ndarray:
        """First left singular vector of G_past (numbers,); its largest number is positive."""
        _, _, right = np.linalg.svd(self.past_gradients, full_matrices=False)
        return right[0] * np.sign(right[0][np.abs(right[0]).argmax()])

    def u1_parameter_share(self, name: str) -> float:
        """Squared norm of u_1 on a parameter; NaN where there are none or no past."""
        mask = self.parameter_mask(name)
        has_share = mask.any() and self.past_gradients.any()
        return float((self.u1[mask] ** 2).sum()) if has_share else np.nan


def windows_by_model(series: Mapping[str, np.ndarray], prefix: str = "") -> Iterator[Windows]:
    """Each model's windows, of series (models, windows, ...) whose names begin with `prefix`."""
    start = prefix + PAST
    names = [n.removeprefix(start) for n in series if n.startswith(start)]
    count, windows = series[start + names[0]].shape[:2]

    def flat(kind: str, model: int) -> np.ndarray:
        parts = [series[prefix + kind + n][model] for n in names]
        # A run without a window has none to tell the size of.
        return np.concatenate([p.reshape(windows, int(np.prod(p.shape[1:]))) for p in parts], 1)

    sizes = [int(np.prod(series[start + n].shape[2:])) for n in names]
    parameter_index = np.repeat(np.arange(len(names)), sizes)
    parameter_masks = {name: parameter_index == i for i, name in enumerate(names)}
    for model in range(count):
        yield Windows(*(flat(kind, model) for kind in (PAST, IMMEDIATE, UPDATE)), parameter_masks)


def concentration(past_gradients: np.ndarray, immediate_gradients: np.ndarray) -> dict[str, float]:
    """Share of the first singular value of G_past and of G_imm, both (windows, numbers).

    top1: s_1 over the sum of all s; energy1: s_1^2 over the sum of all s^2; and of both G_past's
    minus G_imm's. NaN for the energy of a matrix of zeros.
    """
    shares = [singular_values_over_sum(rows) for rows in (past_gradients, immediate_gradients)]
    squares = [v**2 / (v**2).sum() if v.any() else v + np.nan for v in shares]
    numbers = {}
    for name, (of_past, of_immediate) in {"top1": shares, "energy1": squares}.items():
        numbers[f"{name}_past"] = float(of_past[0])
        numbers[f"{name}_immediate"] = float(of_immediate[0])
        numbers[f"{name}_gap"] = float(of_past[0] - of_immediate[0])
    return numbers


def singular_values_over_sum(rows: np.ndarray) -> np.ndarray:
    """Singular values of a matrix over their sum, the largest first; 0 for a matrix of zeros."""
    values = np.linalg.svd(rows, compute_uv=False)
    return values / values.sum() if values.any() else values


def row_cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosines (rows,) of the rows of two arrays; NaN where one is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def size_and_sign_statistics(
    past_gradients: np.ndarray, immediate_gradients: np.ndarray
) -> dict[str, float]:
    """Sizes and signs of g_past beside g_imm, both (windows, coordinates)."""
    larger, sign = np.abs(past_gradients) > np.abs(immediate_gradients), np.sign(past_gradients)
    full_gradients = past_gradients + immediate_gradients
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(past_gradients) / np.abs(immediate_gradients)
    return {
        "dominance": summary_or_nan(ratio, np.nanmedian),
        "past_wins_share": float(larger.mean()),
        "past_sign_sd": float(sign.mean(1).std()),
        "past_sign_sd_coordinates": float(sign.std(0).mean()),
        "sign_differs_share": float(
            (np.sign(full_gradients) != np.sign(immediate_gradients)).mean()
        ),
    }


def summary_or_nan(
    values: np.ndarray, summary: Callable[[np.ndarray], float] = np.nanmean
) -> float:
    """The summary of values, by default the mean of those that are not NaN; NaN of no values."""
    with warnings.catch_warnings(action="ignore"):  # of a mean of nothing, which is NaN
        return float(summary(values)) if np.size(values) else np.nan
