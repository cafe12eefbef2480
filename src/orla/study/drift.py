"""Drift between the two sessions of a pair, measured by ridge decoders before any training.

A decoder of the last inputs is fitted on A's pretraining part or on B's adapt part, and scored,
fixed, on what the study scores: A's held-out tail, and B's held-out part. Scores are R2
(mean over outputs) of values, and accuracy of categories. The intervals are a jackknife over
`BLOCKS` stretches of the scored part, because neighbouring steps are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.sessions.from_bins import OWN
from orla.sessions.streams import Streams
from orla.statistics.means import upper_t
from orla.study import pair_facts
from orla.study.refits import PENALTIES, LeastSquares, lag_inputs
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
COLUMNS = ("measure", "at", "value", "low", "high", "words")


class Score(NamedTuple):
    """A score, or a difference of two, with the ends of its 95 % interval."""

    value: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class DecoderOutputs:
    """Outputs of a decoder on the scored steps of a part, against its targets.

    Attributes:
        outputs, targets: (steps, outputs); categories as one column of ones each.
        categories: whether they are categories.
    """

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
        """What recovery is a share of: the mean squared error, or the share of wrong categories."""
        if self.categories:
            return 1.0 - self.score()
        return float(((self.outputs - self.targets) ** 2).mean())


def score_difference(first: DecoderOutputs, second: DecoderOutputs | None = None) -> Score:
    """The score of one, less that of another on the same steps, with its jackknife interval."""
    steps = np.arange(len(first.targets))
    blocks = np.array_split(steps, min(BLOCKS, len(steps)))
    without_block = [first.score(np.setdiff1d(steps, block)) for block in blocks]
    value = first.score()
    if second is not None:
        without_block = [
            o - second.score(np.setdiff1d(steps, b))
            for o, b in zip(without_block, blocks, strict=True)
        ]
        value -= second.score()
    n = len(blocks)
    error = np.sqrt((n - 1) / n * ((np.array(without_block) - np.mean(without_block)) ** 2).sum())
    half = upper_t(0.975, n - 1) * error
    return Score(value, value - half, value + half)


@dataclass(frozen=True)
class Part:
    """A stream from a step on, with targets as columns, and which of its steps count."""

    stream: Stream
    first: int = 0
    categories: int | None = None

    @property
    def scored_steps(self) -> np.ndarray:
        """Indices of the steps that are scored."""
        steps = np.arange(self.first, len(self.stream))
        mask = self.stream.scored
        return steps if mask is None else steps[mask[steps]]

    @property
    def targets(self) -> np.ndarray:
        """(steps, outputs) of the stream."""
        if self.categories is None:
            return self.stream.Y
        return np.eye(self.categories)[self.stream.Y]


class Decoder:
    """Ridge regression on the last `lags` inputs; its penalty is chosen on the part's own end."""

    def __init__(self, part: Part, lags: int, shift: float = 0.0) -> None:
        self.lags = lags
        X, steps = _features(part, lags), part.scored_steps[-MOST_STEPS:]
        targets = part.targets[steps]
        targets = np.roll(targets, int(shift * len(targets)), axis=0)
        cut = int((1.0 - CHOOSING) * len(steps))
        candidate = LeastSquares(X[steps[:cut]], targets[:cut])
        ends = np.hstack([X[steps[cut:]], np.ones((len(steps) - cut, 1))])
        errors = [((ends @ candidate.weights(p) - targets[cut:]) ** 2).sum() for p in PENALTIES]
        self.penalty = PENALTIES[int(np.argmin(errors))]
        self.weights = LeastSquares(X[steps], targets).weights(self.penalty)

    def on(self, part: Part) -> DecoderOutputs:
        """Its outputs on a part."""
        steps = part.scored_steps
        X = np.hstack([_features(part, self.lags)[steps], np.ones((len(steps), 1))])
        return DecoderOutputs(X @ self.weights, part.targets[steps], part.categories is not None)


def _features(part: Part, lags: int) -> np.ndarray:
    return lag_inputs(part.stream, (lags,))[lags]


def measures(streams: Streams, episode: Episode) -> Iterator[tuple[str, str, Score, str]]:
    """Measure, where (a session or a number of lags), its score and words, of one pair.

    "inputs_moved" and "inputs_moved_within": the median over inputs of the shift of their mean, in
    standard deviations of session A, from A's pretraining part to B's adapt part or to A's tail.
    "tuning" and "tuning_within": the correlation over inputs of their regressions on the targets.
    "within_a", "within_b", "a_to_b", "chance": scores of decoders; "constant": of A's mean.
    "loss": within_b less a_to_b on the same steps. "ceiling": the recovery, in per cent, that the
    decoder refitted on B reaches.
    """
    n = streams.categories
    a, b = Part(episode.pretraining, categories=n), Part(episode.adapt, categories=n)
    tail = Part(episode.reference, episode.reference_from, n)
    heldout = Part(episode.heldout, categories=n)
    yield "inputs_moved", "", Score(_mean_shift(b)), ""
    yield "inputs_moved_within", "", Score(_mean_shift(Part(episode.reference, categories=n))), ""
    yield "tuning", "", Score(_tuning_correlation(a, b)), ""
    yield (
        "tuning_within",
        "",
        Score(_tuning_correlation(a, Part(episode.reference, categories=n))),
        "",
    )
    best: tuple[float, dict[str, DecoderOutputs]] | None = None
    for lags in LAGS:
        on_a, on_b = Decoder(a, lags), Decoder(b, lags)
        by_measure = {
            "within_a": on_a.on(tail),
            "within_b": on_b.on(heldout),
            "a_to_b": on_a.on(heldout),
        }
        for name, outputs in by_measure.items():
            yield name, str(lags), score_difference(outputs), "R²" if n is None else "accuracy"
        yield "loss", str(lags), score_difference(by_measure["within_b"], by_measure["a_to_b"]), ""
        best = max(
            filter(None, [best, (by_measure["within_a"].score(), by_measure)]), key=lambda x: x[0]
        )
    _, by_measure = best
    constant = np.broadcast_to(
        a.targets[a.scored_steps].mean(0), by_measure["a_to_b"].targets.shape
    )
    yield "constant", "", score_difference(replace(by_measure["a_to_b"], outputs=constant)), ""
    by_chance = [Decoder(b, LAGS[0], shift).on(heldout).score() for shift in SHIFTS]
    yield "chance", "", Score(float(np.mean(by_chance)), min(by_chance), max(by_chance)), ""
    frozen, refit, reference = (by_measure[n].error() for n in ("a_to_b", "within_b", "within_a"))
    if frozen > reference:
        yield "ceiling", "", Score(100.0 * (frozen - refit) / (frozen - reference)), ""


def _mean_shift(part: Part) -> float:
    return float(np.median(np.abs(part.stream.X[part.scored_steps].mean(0))))


def _tuning_correlation(first: Part, second: Part) -> float:
    tunings = []
    for part in (first, second):
        X, Y = part.stream.X[part.scored_steps], part.targets[part.scored_steps]
        tunings.append(LeastSquares(Y, X).weights(1.0)[:-1].ravel())
    return float(np.corrcoef(*tunings)[0, 1])


def component_drift(task: Recordings, path_a: str | Path, split: str) -> Score:
    """The score that components of its own cost a session that has not drifted.

    Session A's halves are prepared with components of each half's own, and with shared ones. The
    score of a decoder from half to half with shared ones, less that with own ones, is drift of our
    making.
    """
    outputs = []
    for separate in (False, True):
        streams = pair_facts.halves(task, path_a, separate)
        pretraining = task.cut(streams, split).pretraining
        decoder = Decoder(Part(pretraining, categories=streams.categories), LAGS[2])
        outputs.append(decoder.on(Part(streams.b, categories=streams.categories)))
    steps = min(len(part.targets) for part in outputs)
    ends = [
        replace(part, outputs=part.outputs[-steps:], targets=part.targets[-steps:])
        for part in outputs
    ]
    return score_difference(*ends)


def table(
    task: Recordings,
    streams: Streams,
    split: str,
    files: Sequence[str | Path] = (),
    study: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The report of one pair, a row a measure (`COLUMNS`).

    Args:
        task: of the pair.
        streams: of both sessions.
        split: of session B, into what is adapted to and what is scored.
        files: recordings of A and of B, where there are any.
        study: ``session``, names of A and B; ``strides``, steps between two updates of each
            learner; ``registrations``, why each cannot be answered, or "".
    """
    episode, study = task.cut(streams, split), study or {}
    facts = pair_facts.session_facts(streams, study.get("session", "AB"), files)
    rows = [(measure, at, Score(value), words) for measure, at, value, words in facts]
    for learner, stride in study.get("strides", {}).items():
        rows.append(("updates", learner, Score(len(episode.adapt) // stride), ""))
    for name, why in study.get("registrations", {}).items():
        rows.append(("registration", name, Score(np.nan), why))
    rows += measures(streams, episode)
    if files and streams.dataset["account"]["b"]["alignment"].startswith(OWN):
        rows.append(("made", "", component_drift(task, files[0], split), ""))
    return pd.DataFrame(
        [(measure, at, *score, words) for measure, at, score, words in rows], columns=[*COLUMNS]
    )
