"""How far the two sessions of a pair drift apart, told by a ridge decoder before any training.

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
from orla.study.refits import PENALTIES, LeastSquares, lagged
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
class Scored:
    """Outputs of a decoder on the scored steps of a part, against its targets.

    Attributes:
        outputs, targets: (steps, outputs); categories as one column of ones each.
        categories: whether they are categories.
    """

    outputs: np.ndarray
    targets: np.ndarray
    categories: bool

    def score(self, chosen: np.ndarray | slice = slice(None)) -> float:
        """R2 (mean over outputs), or accuracy, on chosen steps."""
        outputs, targets = self.outputs[chosen], self.targets[chosen]
        if self.categories:
            return float((outputs.argmax(1) == targets.argmax(1)).mean())
        spread = ((targets - targets.mean(0)) ** 2).sum(0)
        return float(np.mean(1.0 - ((outputs - targets) ** 2).sum(0) / spread))

    def error(self) -> float:
        """What recovery is a share of: the mean squared error, or the share of wrong categories."""
        if self.categories:
            return 1.0 - self.score()
        return float(((self.outputs - self.targets) ** 2).mean())


def differing(first: Scored, second: Scored | None = None) -> Score:
    """The score of one, less that of another on the same steps, with its jackknife interval."""
    steps = np.arange(len(first.targets))
    blocks = np.array_split(steps, min(BLOCKS, len(steps)))
    others = [first.score(np.setdiff1d(steps, block)) for block in blocks]
    value = first.score()
    if second is not None:
        others = [
            o - second.score(np.setdiff1d(steps, b)) for o, b in zip(others, blocks, strict=True)
        ]
        value -= second.score()
    n = len(blocks)
    error = np.sqrt((n - 1) / n * ((np.array(others) - np.mean(others)) ** 2).sum())
    half = upper_t(0.975, n - 1) * error
    return Score(value, value - half, value + half)


@dataclass(frozen=True)
class Part:
    """A stream from a step on, with targets as columns, and which of its steps count."""

    stream: Stream
    first: int = 0
    categories: int | None = None

    @property
    def counted(self) -> np.ndarray:
        """Indices of the steps that are scored."""
        steps = np.arange(self.first, len(self.stream))
        scored = self.stream.scored
        return steps if scored is None else steps[scored[steps]]

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
        X, counted = _features(part, lags), part.counted[-MOST_STEPS:]
        targets = part.targets[counted]
        targets = np.roll(targets, int(shift * len(targets)), axis=0)
        cut = int((1.0 - CHOOSING) * len(counted))
        tried = LeastSquares(X[counted[:cut]], targets[:cut])
        ends = np.hstack([X[counted[cut:]], np.ones((len(counted) - cut, 1))])
        errors = [((ends @ tried.weights(p) - targets[cut:]) ** 2).sum() for p in PENALTIES]
        self.penalty = PENALTIES[int(np.argmin(errors))]
        self.weights = LeastSquares(X[counted], targets).weights(self.penalty)

    def on(self, part: Part) -> Scored:
        """Its outputs on a part."""
        steps = part.counted
        X = np.hstack([_features(part, self.lags)[steps], np.ones((len(steps), 1))])
        return Scored(X @ self.weights, part.targets[steps], part.categories is not None)


def _features(part: Part, lags: int) -> np.ndarray:
    return lagged(part.stream, (lags,))[lags]


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
    yield "inputs_moved", "", Score(_moved(b)), ""
    yield "inputs_moved_within", "", Score(_moved(Part(episode.reference, categories=n))), ""
    yield "tuning", "", Score(_alike(a, b)), ""
    yield "tuning_within", "", Score(_alike(a, Part(episode.reference, categories=n))), ""
    best: tuple[float, dict[str, Scored]] | None = None
    for lags in LAGS:
        on_a, on_b = Decoder(a, lags), Decoder(b, lags)
        found = {
            "within_a": on_a.on(tail),
            "within_b": on_b.on(heldout),
            "a_to_b": on_a.on(heldout),
        }
        for name, scored in found.items():
            yield name, str(lags), differing(scored), "R²" if n is None else "accuracy"
        yield "loss", str(lags), differing(found["within_b"], found["a_to_b"]), ""
        best = max(filter(None, [best, (found["within_a"].score(), found)]), key=lambda x: x[0])
    _, found = best
    constant = np.broadcast_to(a.targets[a.counted].mean(0), found["a_to_b"].targets.shape)
    yield "constant", "", differing(replace(found["a_to_b"], outputs=constant)), ""
    by_chance = [Decoder(b, LAGS[0], shift).on(heldout).score() for shift in SHIFTS]
    yield "chance", "", Score(float(np.mean(by_chance)), min(by_chance), max(by_chance)), ""
    frozen, refitted, reference = (found[n].error() for n in ("a_to_b", "within_b", "within_a"))
    if frozen > reference:
        yield "ceiling", "", Score(100.0 * (frozen - refitted) / (frozen - reference)), ""


def _moved(part: Part) -> float:
    return float(np.median(np.abs(part.stream.X[part.counted].mean(0))))


def _alike(first: Part, second: Part) -> float:
    tunings = []
    for part in (first, second):
        X, Y = part.stream.X[part.counted], part.targets[part.counted]
        tunings.append(LeastSquares(Y, X).weights(1.0)[:-1].ravel())
    return float(np.corrcoef(*tunings)[0, 1])


def made_by_components(task: Recordings, path_a: str | Path, split: str) -> Score:
    """What components of its own cost a session that has not drifted.

    Session A's halves are prepared with components of each half's own, and with shared ones. The
    score of a decoder from half to half with shared ones, less that with own ones, is drift of our
    making.
    """
    scored = []
    for own in (False, True):
        streams = pair_facts.halves(task, path_a, own)
        pretraining = task.cut(streams, split).pretraining
        decoder = Decoder(Part(pretraining, categories=streams.categories), LAGS[2])
        scored.append(decoder.on(Part(streams.b, categories=streams.categories)))
    steps = min(len(each.targets) for each in scored)
    ends = [
        replace(each, outputs=each.outputs[-steps:], targets=each.targets[-steps:])
        for each in scored
    ]
    return differing(*ends)


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
    for name, refused in study.get("registrations", {}).items():
        rows.append(("registration", name, Score(np.nan), refused))
    rows += measures(streams, episode)
    if files and streams.dataset["account"]["b"]["alignment"].startswith(OWN):
        rows.append(("made", "", made_by_components(task, files[0], split), ""))
    return pd.DataFrame(
        [(measure, at, *score, words) for measure, at, score, words in rows], columns=[*COLUMNS]
    )
