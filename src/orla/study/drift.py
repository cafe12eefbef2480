"""Drift between the two sessions of a pair, measured by ridge decoders before any training.

A decoder of the last inputs is fitted on A's pretraining part or on B's adapt part, and scored,
fixed, on A's held-out tail and B's held-out part, by R2 (mean over outputs) or accuracy. Intervals
are a jackknife over `BLOCKS` stretches, because neighbouring steps are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orla.sessions.from_bins import OWN_COMPONENTS
from orla.sessions.parts import pretraining_steps
from orla.sessions.streams import Streams
from orla.statistics.means import t_quantile
from orla.statistics.ranks import Interval
from orla.study import pair_facts
from orla.study.refits import PENALTIES, LaggedInputs, LeastSquares, linear_outputs
from orla.tasks.episode import Episode
from orla.tasks.recordings import Recordings
from orla.tasks.stream import Stream

LAGS = 1, 2, 5, 10, 20
# A decoder is fitted on the last steps of a part, so many at most.
MOST_STEPS = 10_000
BLOCKS = 20
# Shifts of the targets, as shares of the part, by which chance is estimated.
SHIFTS = 0.3, 0.4, 0.5, 0.6, 0.7
# Last share of a part by which the penalty is chosen.
CHOOSING = 0.2
COLUMNS = {
    "measure": "What is measured: docs/protocol.md, Drift report.",
    "at": "Session, learner, registration or steps that a decoder reads; else empty.",
    "value": "Of the measure; null where it is one of words.",
    "low": "Lower end of its 95 % jackknife interval; null where there is none.",
    "high": "Upper end of it.",
    "words": "What the measure says in words.",
}


@dataclass(frozen=True)
class DecoderOutputs:
    """Outputs and targets (steps, outputs) on a part; categories are a column of ones each."""

    outputs: np.ndarray
    targets: np.ndarray
    categories: bool

    def score(self, steps: np.ndarray | slice = slice(None)) -> float:
        """R2 (mean over outputs), or accuracy, on chosen steps."""
        outputs, targets = self.outputs[steps], self.targets[steps]
        if self.categories:
            return float((outputs.argmax(1) == targets.argmax(1)).mean())
        spread = ((targets - targets.mean(0)) ** 2).sum(0)
        return float(np.mean(1.0 - ((outputs - targets) ** 2).sum(0) / spread))

    def error(self) -> float:
        """The mean squared error, or the share of wrong categories; recovery is a share of it."""
        if self.categories:
            return 1.0 - self.score()
        return float(((self.outputs - self.targets) ** 2).mean())


def score_difference(first: DecoderOutputs, second: DecoderOutputs | None = None) -> Interval:
    """The score of one, less that of another on the same steps, with its jackknife interval."""

    def difference(some: np.ndarray | slice) -> float:
        return first.score(some) - (second.score(some) if second else 0.0)

    steps = np.arange(len(first.targets))
    blocks = np.array_split(steps, min(BLOCKS, len(steps)))
    without_block = np.array([difference(np.setdiff1d(steps, block)) for block in blocks])
    value, n = difference(slice(None)), len(blocks)
    error = np.sqrt((n - 1) / n * ((without_block - without_block.mean()) ** 2).sum())
    half = t_quantile(0.975, n - 1) * error
    return Interval(value, value - half, value + half)


class ScoredStream:
    """A stream from a step on: its scored `steps`, and the `targets` of all steps as columns."""

    def __init__(self, stream: Stream, first: int = 0, categories: int | None = None) -> None:
        self.stream, self.categories = stream, categories is not None
        steps = np.arange(first, len(stream))
        self.steps = steps if stream.scored is None else steps[stream.scored[steps]]
        self.targets = stream.Y if categories is None else np.eye(categories)[stream.Y]

    def tuning_weights(self) -> np.ndarray:
        """Weights of regressions of the inputs on the targets, flat."""
        X, Y = self.stream.X[self.steps], self.targets[self.steps]
        return LeastSquares(Y, X).weights(1.0)[:-1].ravel()

    def median_abs_input_mean(self) -> float:
        """The median over inputs of the distance of their means from 0."""
        return float(np.median(np.abs(self.stream.X[self.steps].mean(0))))


class Decoder:
    """Ridge regression on the last `lags` inputs; its penalty is chosen on the part's own end."""

    def __init__(self, part: ScoredStream, lags: int, shift: float = 0.0) -> None:
        self.lags = lags
        steps = part.steps[-MOST_STEPS:]
        X, targets = LaggedInputs(part.stream).rows(steps, lags), part.targets[steps]
        targets = np.roll(targets, int(shift * len(targets)), axis=0)
        end = int((1.0 - CHOOSING) * len(steps))
        candidate = LeastSquares(X[:end], targets[:end])
        ends = np.hstack([X[end:], np.ones((len(steps) - end, 1))])
        errors = [((ends @ candidate.weights(p) - targets[end:]) ** 2).sum() for p in PENALTIES]
        self.penalty = PENALTIES[int(np.argmin(errors))]
        self.weights = LeastSquares(X, targets).weights(self.penalty)

    def decode(self, part: ScoredStream) -> DecoderOutputs:
        """The decoder's outputs on the scored steps of a stream, with their targets."""
        rows = partial(LaggedInputs(part.stream).rows, lags=self.lags)
        outputs = linear_outputs(rows, part.steps, self.weights)
        return DecoderOutputs(outputs, part.targets[part.steps], part.categories)


def drift_measures(streams: Streams, episode: Episode) -> Iterator[tuple[str, str, Interval, str]]:
    """Measure, where (a session or a number of lags), its score and words, of one pair.

    "inputs_moved" and "inputs_moved_within": the median over inputs of the shift of their mean, in
    standard deviations of session A, from A's pretraining part to B's adapt part or to A's tail.
    "tuning" and "tuning_within": the correlation over inputs of their regressions on the targets.
    "within_a", "within_b", "a_to_b", "chance": scores of decoders; "constant": of A's mean.
    "loss": within_b less a_to_b on the same steps. "ceiling": the recovery, in per cent, that the
    decoder refitted on B reaches.
    """
    n = streams.categories
    parts = episode.pretraining, episode.adapt, episode.reference, episode.heldout
    a, b, whole_tail, heldout = (ScoredStream(part, categories=n) for part in parts)
    tail = ScoredStream(episode.reference, episode.reference_from, n)
    yield "inputs_moved", "", Interval(b.median_abs_input_mean()), ""
    yield "inputs_moved_within", "", Interval(whole_tail.median_abs_input_mean()), ""
    for name, other in (("tuning", b), ("tuning_within", whole_tail)):
        both = a.tuning_weights(), other.tuning_weights()
        yield name, "", Interval(float(np.corrcoef(*both)[0, 1])), ""
    by_lags = []
    for lags in LAGS:
        on_a, on_b = Decoder(a, lags), Decoder(b, lags)
        outputs = {
            "within_a": on_a.decode(tail),
            "within_b": on_b.decode(heldout),
            "a_to_b": on_a.decode(heldout),
        }
        for name, some in outputs.items():
            yield name, str(lags), score_difference(some), "R²" if n is None else "accuracy"
        yield "loss", str(lags), score_difference(outputs["within_b"], outputs["a_to_b"]), ""
        by_lags.append(outputs)
    best = max(by_lags, key=lambda outputs: outputs["within_a"].score())
    constant = np.broadcast_to(a.targets[a.steps].mean(0), best["a_to_b"].targets.shape)
    yield "constant", "", score_difference(replace(best["a_to_b"], outputs=constant)), ""
    by_chance = [Decoder(b, LAGS[0], shift).decode(heldout).score() for shift in SHIFTS]
    yield "chance", "", Interval(float(np.mean(by_chance)), min(by_chance), max(by_chance)), ""
    start, end, goal = (best[name].error() for name in ("a_to_b", "within_b", "within_a"))
    if start > goal:
        yield "ceiling", "", Interval(100.0 * (start - end) / (start - goal)), ""


def score_lost_to_own_components(task: Recordings, path_a: str | Path) -> Interval:
    """What a decoder from half to half of A loses in score where each has its own components."""
    outputs = []
    for separate in (False, True):
        streams = pair_facts.prepare_halves(task, path_a, separate)
        n = pretraining_steps(len(streams.a), task.parts.tail_steps)
        first = ScoredStream(streams.a.slice_steps(slice(n)), categories=streams.categories)
        second = ScoredStream(streams.b, categories=streams.categories)
        outputs.append(Decoder(first, LAGS[2]).decode(second))
    steps = min(len(part.targets) for part in outputs)
    ends = [
        replace(part, outputs=part.outputs[-steps:], targets=part.targets[-steps:])
        for part in outputs
    ]
    return score_difference(*ends)


def drift_report_table(
    task: Recordings,
    streams: Streams,
    split: str,
    files: Sequence[str | Path] = (),
    study: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The report of one pair, a row a measure (`COLUMNS`).

    Args:
        split: of session B, into what is adapted to and what is scored.
        files: recordings of A and of B, where there are any.
        study: ``session``, names of A and B; ``strides``, steps between two updates of each
            learner; ``registrations``, why each cannot be answered, or "".
    """
    episode, study = task.cut(streams, split), study or {}
    facts = pair_facts.session_fact_rows(streams, study.get("session", "AB"), files)
    rows = [(measure, at, Interval(value), words) for measure, at, value, words in facts]
    for learner, stride in study.get("strides", {}).items():
        rows.append(("updates", learner, Interval(len(episode.adapt) // stride), ""))
    for name, why in study.get("registrations", {}).items():
        rows.append(("registration", name, Interval(np.nan), why))
    rows += drift_measures(streams, episode)
    if files and streams.dataset["account"]["b"]["alignment"].startswith(OWN_COMPONENTS):
        rows.append(("made", "", score_lost_to_own_components(task, files[0]), ""))
    flat = [(measure, at, *score, words) for measure, at, score, words in rows]
    return pd.DataFrame(flat, columns=[*COLUMNS])
