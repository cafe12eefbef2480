"""Decoders that a laboratory would refit in place of learning online, as baselines.

Each is fitted on the scored steps of the adapt part and scored, fixed, on the held-out part. Its
settings are those with the lowest error on the selection part, after a fit on the steps before it.
Source: docs/protocol.md, Baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np
import torch
from scipy.linalg import solve, solve_discrete_are
from torch.func import vmap

from orla.architectures.base import Architecture, Parameters
from orla.derivatives import derivatives
from orla.derivatives.base import axis_of_models
from orla.engine.update import StreamTensors
from orla.losses.base import Loss
from orla.losses.squared_error import SquaredError
from orla.study.batches import stream_tensors
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

LAGS = 1, 5, 10
"""Numbers of steps, the present one included, that a linear decoder reads."""

PENALTIES = 1.0, 10.0, 100.0, 1e3, 1e4
"""Of the squared weights, beside the sum of squared errors; inputs are z-scored."""

PREFIX = "refit_"
"""Of the columns of their scores."""

DECODERS = {
    "ridge": "ridge regression on the last inputs",
    "recursive": "recursive least squares on the last inputs",
    "kalman": "Kalman filter of the targets",
    "readout": "ridge regression on the frozen network's hidden units",
}
"""Name of a decoder -> what it is, in the order of tables."""

FORGETTING = 0.998, 0.999, 0.9995
"""What a squared error counts for after one more step of recursive least squares."""

# Networks whose hidden units are in memory at once.
_NETWORKS_PER_BATCH = 10
# Steps whose features are in memory at once.
_STEPS = 20_000
_RIDGE = [(1.0, penalty) for penalty in PENALTIES]
_RECURSIVE = [(forgetting, 0.0) for forgetting in FORGETTING]


# Features (steps, features) of some steps, given by their numbers.
Rows = Callable[[np.ndarray], np.ndarray]


def parts_of_steps(count: int) -> Iterator[np.ndarray]:
    """Numbers of so many steps, from 0, in parts whose features fit in memory; one at least."""
    for first in range(0, max(count, 1), _STEPS):
        yield np.arange(first, min(first + _STEPS, count))


def linear_outputs(features: Rows, steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Outputs (steps, n_out) of weights (features + 1, n_out), the last row the intercept."""
    parts = [features(steps[part]) @ weights[:-1] for part in parts_of_steps(len(steps))]
    return np.concatenate(parts) + weights[-1]


class LeastSquares:
    """Linear decoders of features X (steps, features) and targets Y (steps, n_out).

    They minimise the sum over steps t of forgetting^(last - t) |y - w x - b|^2, plus a penalty
    times |w|^2. X may be a function of the numbers of steps, which is called for some at a time.
    """

    def __init__(self, X: np.ndarray | Rows, Y: np.ndarray, forgetting: float = 1.0) -> None:
        weight = forgetting ** np.arange(len(Y) - 1.0, -1.0, -1.0)[:, None]
        self.squares = self.products = np.zeros(())
        self.start_weight = forgetting ** len(Y)
        for part in parts_of_steps(len(Y)):
            rows = X(part) if callable(X) else X[part]
            rows = np.hstack([rows, np.ones((len(rows), 1))])
            self.squares = self.squares + rows.T @ (weight[part] * rows)
            self.products = self.products + rows.T @ (weight[part] * Y[part])

    def weights(self, penalty: float) -> np.ndarray:
        """(features + 1, n_out), the last row the intercept, which has no penalty."""
        penalties = np.full(len(self.squares), penalty)
        penalties[-1] = 0.0
        return self._solve(penalties)

    def final_rls_weights(self) -> np.ndarray:
        """What recursive least squares has reached at the last step, (features + 1, n_out).

        Its correlation matrix begins as the identity, which is forgotten as errors are (Haykin,
        Adaptive Filter Theory, chapter on the RLS algorithm).
        """
        return self._solve(np.full(len(self.squares), self.start_weight))

    def _solve(self, penalties: np.ndarray) -> np.ndarray:
        # So that a silent input, or one that was forgotten, can be solved for.
        least = 1e-10 * self.squares.diagonal().max()
        return solve(self.squares + np.diag(penalties + least), self.products, assume_a="pos")


@dataclass(frozen=True)
class Kalman:
    """A Kalman filter whose state is the target, with the gain that it settles to.

    y_t = A y_{t-1} + w, x_t = C y_t + d + q, with A, C, d and the covariances of w and q by least
    squares (Wu et al. 2006, Neural Computation 18).
    """

    A: np.ndarray
    C: np.ndarray
    offset: np.ndarray
    gain: np.ndarray

    LEAST_VARIANCE: ClassVar[float] = 1e-6  # of an input, so that a silent one divides nothing

    @classmethod
    def fit(cls, X: np.ndarray, Y: np.ndarray, follows: np.ndarray) -> Kalman:
        """From inputs, targets (steps, ...) and whether each step follows on the one before."""
        before, after = Y[:-1][follows[1:]], Y[1:][follows[1:]]
        A = np.linalg.lstsq(before, after, rcond=None)[0].T
        W = np.atleast_2d(np.cov((after - before @ A.T).T))
        C = LeastSquares(Y, X).weights(0.0)
        C, offset = C[:-1].T, C[-1]
        Q = np.atleast_2d(np.cov((X - Y @ C.T - offset).T))
        Q = Q + cls.LEAST_VARIANCE * np.eye(len(Q))
        ahead = solve_discrete_are(A.T, C.T, W, Q)
        gain = solve(C @ ahead @ C.T + Q, C @ ahead, assume_a="pos").T
        return cls(A, C, offset, gain)

    def decode(self, X: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Targets (steps, n_out) decoded from inputs X; the state is zero where a trial starts."""
        turn = self.A - self.gain @ self.C @ self.A
        pushes = (X - self.offset) @ self.gain.T
        y, decode = np.zeros(len(self.A)), np.empty((len(X), len(self.A)))
        for t, push in enumerate(pushes):
            y = push if starts[t] else turn @ y + push
            decode[t] = y
        return decode


def heldout_decoder_scores(
    episode: Episode, loss: Loss, architecture: Architecture, networks: Parameters
) -> dict[str, np.ndarray]:
    """Held-out scores (seeds,) of the decoders, by `score_columns`; {} without squared error."""
    if not isinstance(loss, SquaredError):
        return {}
    heldout, scores = episode.heldout, {}
    seeds = slice(len(next(iter(networks.values())))) if heldout.per_seed else slice(None)
    Y = torch.as_tensor(heldout.Y[seeds])
    mask = None if heldout.scored is None else torch.as_tensor(heldout.scored[seeds])
    for name, outputs in heldout_decoder_outputs(episode, architecture, networks).items():
        outputs = torch.as_tensor(outputs)
        error, r2 = score_columns(name)
        scores[error] = loss.mean_error(outputs, Y, mask).numpy()
        scores[r2] = loss.scores(outputs, Y, mask)["r2_mean"]
    return scores


def score_columns(decoder: str) -> tuple[str, str]:
    """Columns of a decoder's held-out error and R2 (mean over outputs) in a table of models."""
    return f"{PREFIX}{decoder}_error", f"{PREFIX}{decoder}_r2"


def heldout_decoder_outputs(
    episode: Episode, architecture: Architecture, networks: Parameters
) -> dict[str, np.ndarray]:
    """Outputs (seeds, steps, n_out) of each of `DECODERS`, beside networks that do not adapt."""
    whole_stream, seeds = episode.whole, len(next(iter(networks.values())))
    fits = [_Fits(stream, episode) for stream in _streams_by_seed(whole_stream)]
    by_seed = []
    for first in range(0, seeds, _NETWORKS_PER_BATCH):
        some = np.arange(first, min(first + _NETWORKS_PER_BATCH, seeds))
        params = {name: p[first : first + _NETWORKS_PER_BATCH] for name, p in networks.items()}
        dtype = next(iter(params.values())).dtype
        states = hidden_states(architecture, params, stream_tensors(whole_stream, some, dtype))
        for seed, hidden in zip(some, states, strict=True):
            fit = fits[seed if whole_stream.per_seed else 0]
            by_seed.append(
                fit.heldout_outputs_of_input_decoders
                | {"readout": fit.best_linear_outputs({0: hidden.__getitem__}, _RIDGE)}
            )
    return {name: np.stack([outputs[name] for outputs in by_seed]) for name in DECODERS}


def hidden_states(
    architecture: Architecture, networks: Parameters, stream: StreamTensors
) -> np.ndarray:
    """Hidden units (models, steps, hidden) of frozen networks along a stream, float64.

    Not compiled: all networks go along the stream once, together. `stream` holds "x" and, where
    trials begin, "starts", as from `batches.stream_tensors`.
    """
    before, hidden = derivatives(architecture).state_before, architecture.hidden
    entries = {name: stream[name] for name in ("x", "starts") if name in stream}
    with torch.no_grad():
        state = vmap(architecture.initial_state)(networks)
        units = np.empty((len(state), len(stream["x"]), hidden))
        for t in range(len(stream["x"])):
            stream_step = {name: m[t] for name, m in entries.items()}
            step = vmap(architecture.step, in_dims=(0, 0, axis_of_models(stream_step)))
            state = step(networks, before(networks, state, stream_step), stream_step["x"])
            units[:, t] = state[:, :hidden].numpy()
    return units


def _streams_by_seed(whole_stream: Stream) -> Iterator[Stream]:
    """The streams one by one: that of all seeds, or each seed's own."""
    for seed in range(len(whole_stream.X)) if whole_stream.per_seed else (...,):
        yield Stream(**{n: None if a is None else a[seed] for n, a in vars(whole_stream).items()})


def _start_mask(stream: Stream) -> np.ndarray:
    """(steps,) bool, True where a trial starts."""
    return np.zeros(stream.X.shape[:-1], bool) if stream.starts is None else stream.starts


class LaggedInputs:
    """The last inputs of a stream's steps; zeros before a trial starts."""

    def __init__(self, stream: Stream) -> None:
        steps = np.arange(len(stream))
        self.X = stream.X
        self.since = steps - np.maximum.accumulate(np.where(_start_mask(stream), steps, 0))

    def rows(self, steps: np.ndarray, lags: int) -> np.ndarray:
        """The last `lags` inputs of some steps side by side, (steps, lags * inputs)."""
        since = self.since[steps][:, None]
        columns = (
            np.where(since >= lag, self.X[np.maximum(steps - lag, 0)], 0.0) for lag in range(lags)
        )
        return np.hstack([*columns])


class _Fits:
    """Decoders of one stream of an episode; each answers outputs (steps, n_out) held out."""

    def __init__(self, stream: Stream, episode: Episode) -> None:
        self.stream, self.steps = stream, len(episode.adapt)
        mask = np.ones(len(stream), bool) if stream.scored is None else stream.scored
        self.adapt = np.flatnonzero(mask[: self.steps])  # steps that count
        self.before = self.adapt[self.adapt < episode.selection_cut]
        self.selection = self.adapt[self.adapt >= episode.selection_cut]

    @cached_property
    def heldout_outputs_of_input_decoders(self) -> dict[str, np.ndarray]:
        """Held-out outputs by decoder that reads inputs: the same for all networks."""
        inputs = LaggedInputs(self.stream)
        features = {lags: partial(inputs.rows, lags=lags) for lags in LAGS}
        settings = {"ridge": _RIDGE, "recursive": _RECURSIVE}
        outputs = {n: self.best_linear_outputs(features, choice) for n, choice in settings.items()}
        return outputs | {"kalman": self.heldout_kalman_outputs()}

    def best_linear_outputs(
        self, features: Mapping[int, Rows], settings: Sequence[tuple[float, float]]
    ) -> np.ndarray:
        """Outputs by the best (forgetting, penalty) and lags; recursive least squares below 1."""

        @cache
        def equations(for_selection: bool, lags: int, forgetting: float) -> LeastSquares:
            span = self.before if for_selection else self.adapt
            rows = features[lags]
            return LeastSquares(lambda part: rows(span[part]), self.stream.Y[span], forgetting)

        def outputs(
            for_selection: bool, steps: np.ndarray, lags: int, forgetting: float, penalty: float
        ) -> np.ndarray:
            fit = equations(for_selection, lags, forgetting)
            w = fit.final_rls_weights() if forgetting < 1 else fit.weights(penalty)
            return linear_outputs(features[lags], steps, w)

        def error(setting: tuple) -> float:
            residual = outputs(True, self.selection, *setting) - self.stream.Y[self.selection]
            return (residual**2).mean()

        best = min(((lags, *s) for lags in features for s in settings), key=error)
        return outputs(False, np.arange(self.steps, len(self.stream)), *best)

    def heldout_kalman_outputs(self) -> np.ndarray:
        """Outputs of a Kalman filter, which runs through the adapt part."""
        stream, span, starts = self.stream, self.adapt, _start_mask(self.stream)
        follows = (np.diff(span, prepend=-2) == 1) & ~starts[span]
        decoder = Kalman.fit(stream.X[span], stream.Y[span], follows)
        return decoder.decode(stream.X, starts)[self.steps :]
