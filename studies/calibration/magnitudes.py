"""Magnitudes of binned recordings of reaching that no registration judges.

A ridge decoder of velocity (R2 against the number of lags, within a session and across days), the
autocorrelation of velocity, Fano factors, and spectra of velocity and of counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import welch

from orla.tasks.episode import Episode

LAGS = (1, 2, 5, 10, 20)
RATIO_TO = 10  # of LAGS: R2 by lags is given over the R2 with these
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
TRAINED = 0.8
AUTOCORRELATION_S = (0.1, 0.25, 0.5)
FANO_S = (0.05, 0.25, 1.0)
BELOW_HZ = 1.0
SEGMENT_S = 12.8
RATE_AT_LEAST_HZ = 1.0


@dataclass(frozen=True)
class Moments:
    """Products of a design's columns with each other and with the targets, and the steps."""

    xx: np.ndarray
    xy: np.ndarray
    steps: int


def design(inputs: np.ndarray, lags: int) -> np.ndarray:
    """A column of ones, then the inputs of a step, of the step before, ...: (steps, 1 + lags n)."""
    blocks = [np.ones((len(inputs), 1))]
    for lag in range(lags):
        blocks.append(np.concatenate([np.zeros((lag, inputs.shape[1])), inputs])[: len(inputs)])
    return np.concatenate(blocks, axis=1)


def _moments(X: np.ndarray, Y: np.ndarray) -> Moments:
    return Moments(X.T @ X, X.T @ Y, len(X))


def _solved(m: Moments, columns: int, penalty: float) -> np.ndarray:
    """Ridge weights of the first columns; the penalty is one a step, and none on the ones."""
    ridge = np.full(columns, penalty * m.steps)
    ridge[0] = 0.0
    return np.linalg.solve(m.xx[:columns, :columns] + np.diag(ridge), m.xy[:columns])


def fitted(X: np.ndarray, Y: np.ndarray, columns: Sequence[int]) -> list[np.ndarray]:
    """Ridge weights for the first of X's columns, as many as each of `columns` says.

    The penalty is the one of `PENALTIES` that predicts the last fifth best from the first four;
    the weights are then fitted on all rows.
    """
    cut = int(TRAINED * len(X))
    first, last = _moments(X[:cut], Y[:cut]), _moments(X[cut:], Y[cut:])
    both = Moments(first.xx + last.xx, first.xy + last.xy, first.steps + last.steps)
    weights = []
    for n in columns:
        xx, xy = last.xx[:n, :n], last.xy[:n]

        def error(penalty: float, n: int = n, xx: np.ndarray = xx, xy: np.ndarray = xy) -> float:
            w = _solved(first, n, penalty)
            return float(np.sum(w * (xx @ w)) - 2 * np.sum(w * xy))

        weights.append(_solved(both, n, min(PENALTIES, key=error)))
    return weights


def r2(Y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """R2 of each column."""
    return 1 - ((Y - predicted) ** 2).sum(0) / ((Y - Y.mean(0)) ** 2).sum(0)


def r2_by_lags(
    inputs: np.ndarray, velocity: np.ndarray, lags: Sequence[int] = LAGS, *, last: bool = True
) -> dict[int, np.ndarray]:
    """R2 (outputs,) of a ridge decoder of a session, by the number of lags.

    Args:
        inputs: (steps, n), such as square roots of counts; z-scored on the fitted part.
        velocity: (steps, outputs).
        lags: steps that the decoder sees, the present one included.
        last: fitted on the first `TRAINED` of the steps and tested on the rest; otherwise fitted
            on the second half and tested on the first.
    """
    cut = int(TRAINED * len(inputs)) if last else len(inputs) // 2
    fit, test = (slice(0, cut), slice(cut, None)) if last else (slice(cut, None), slice(0, cut))
    sd = inputs[fit].std(0)
    X = design((inputs - inputs[fit].mean(0)) / np.where(sd > 0, sd, 1.0), max(lags))
    columns = [1 + n * inputs.shape[1] for n in lags]
    weights = fitted(X[fit], velocity[fit], columns)
    return {
        n: r2(velocity[test], X[test, : len(w)] @ w) for n, w in zip(lags, weights, strict=True)
    }


def autocorrelation(velocity: np.ndarray, lag: int) -> np.ndarray:
    """Correlation of each column with itself `lag` steps later."""
    v = velocity - velocity.mean(0)
    return (v[:-lag] * v[lag:]).mean(0) / (v**2).mean(0)


def fano(counts: np.ndarray, bin_s: float, window_s: float) -> np.ndarray:
    """Variance over mean of each column's counts in windows; columns of low rate are left out."""
    kept = counts[:, counts.mean(0) / bin_s >= RATE_AT_LEAST_HZ]
    width = round(window_s / bin_s)
    whole = len(kept) // width * width
    windows = kept[:whole].reshape(-1, width, kept.shape[1]).sum(1)
    return windows.var(0) / windows.mean(0)


def power_below(rows: np.ndarray, bin_s: float, hz: float = BELOW_HZ) -> np.ndarray:
    """Share of each column's variance (Welch's spectrum) at frequencies up to `hz`."""
    segment = min(round(SEGMENT_S / bin_s), len(rows))
    frequencies, power = welch(rows, 1 / bin_s, nperseg=segment, axis=0)
    return power[frequencies <= hz].sum(0) / power.sum(0)


def of_session(counts: np.ndarray, velocity: np.ndarray, bin_s: float) -> dict[str, np.ndarray]:
    """Magnitudes of a session but the decoder's: a value an output, or one a column of counts."""
    found = {
        f"autocorrelation {s:g} s": autocorrelation(velocity, round(s / bin_s))
        for s in AUTOCORRELATION_S
    }
    found |= {f"fano {s:g} s": fano(counts, bin_s, s) for s in FANO_S}
    found["velocity power below 1 Hz"] = power_below(velocity, bin_s)
    busy = counts.mean(0) / bin_s >= RATE_AT_LEAST_HZ
    found["count power below 1 Hz"] = power_below(counts[:, busy].astype(float), bin_s)
    return found


def across_days(episode: Episode, lags: int) -> dict[str, float]:
    """Errors and R2 of ridge decoders of the study's own inputs, on the study's own parts.

    Args:
        episode: a split of session B.
        lags: steps that the decoders see.

    Returns:
        Mean squared errors in the targets' z-scores and R2: `reference` (fitted on A's pretraining
        part, scored on A's held-out part), `frozen` (the same decoder on B's held-out part), `own`
        (fitted on B's whole adapt part, at once); `frozen_minus_reference`; and `recovery_percent`
        of the own decoder, the ceiling of what a linear decoder of these inputs can recover.
    """
    cut = len(episode.adapt)
    places = {
        "pretraining": (episode.pretraining, slice(None)),
        "reference": (episode.reference, slice(episode.reference_from, None)),
        "adapt": (episode.whole, slice(0, cut)),
        "heldout": (episode.whole, slice(cut, None)),
    }
    rows = {
        name: (design(stream.X, lags)[part], stream.Y[part])
        for name, (stream, part) in places.items()
    }
    width = rows["adapt"][0].shape[1]
    (on_a,), (on_b,) = (fitted(*rows[name], [width]) for name in ("pretraining", "adapt"))
    found = {}
    for name, place, weights in (
        ("reference", "reference", on_a),
        ("frozen", "heldout", on_a),
        ("own", "heldout", on_b),
    ):
        X, Y = rows[place]
        found[f"{name}_error"] = float(np.mean((Y - X @ weights) ** 2))
        found[f"{name}_r2"] = float(r2(Y, X @ weights).mean())
    frozen = found["frozen_error"]
    gap = found["frozen_minus_reference"] = frozen - found["reference_error"]
    found["recovery_percent"] = 100 * (frozen - found["own_error"]) / gap
    return found
