"""Tabular streams: River's generators, and tables in a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orla.catalogue import option
from orla.errors import OrlaError
from orla.files import require_sha256, reraise_in_one_line, sha256
from orla.tasks.base import Task, require_valid_episode
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

# River's models that may be run beside networks (`streams.peers`) -> what a reader calls them, in
# the order of tables and legends.
PEERS = {
    "forest": "Adaptive Random Forest",
    "tree": "Hoeffding tree",
    "logistic": "logistic regression",
    "no-change": "no change (the last class)",
    "majority": "majority (the commonest class)",
}
LabelledRows = tuple[np.ndarray, np.ndarray, int]


@dataclass(frozen=True)
class River(Task, name="river", label="{stream}", order=60, loss="cross_entropy"):
    """Rows of features with a class each, in their order; targets are categories.

    A generator of River (Montiel et al. 2021) draws a stream a seed, or all seeds have the rows of
    a file. Features are standardized by the rows so far, the present one among them, as by River's
    StandardScaler before a model: x - mean over SD, 0 where the SD is 0. The learning rate is
    chosen on the first rows that are adapted to; what is held out follows the scored stream.
    """

    stream: str = option("Hyperplane", "A generator of river.datasets.synth, or a name for a file.")
    parameters: dict[str, Any] = option({}, "The generator's, by River's names, but its seeds.")
    file: str | None = option(
        None, "A table in place of a generator: .csv with a head.", is_file=True
    )
    sha256: str = option("", "SHA-256 of the file; another file is refused.")
    target: str = option("class", "The file's column with the class; all others are features.")
    seed: int = option(0, "Of all streams; seed 3 of one is another stream than seed 3 of another.")
    drifts: list[int] = option([], "Rows of the adapt part where other seeds follow, increasing.")
    peers: dict[str, int] = option({}, "River's models beside networks, and how many seeds each.")
    pretraining: int = option(0, "Rows that come before the adapt part; 0 for none.", least=0)
    adapt: int = option(2000, "Rows that are learned one by one.", least=2)
    heldout: int = option(100, "Rows that follow, scored frozen.", least=1)
    window: int = option(100, "Rows of a window; every part is a multiple of it.", least=1)
    chosen_on: float = option(
        0.1, "Share of the adapt part, the first rows, by which a rate is chosen.", above=0, most=1
    )

    def __post_init__(self) -> None:
        ends = [0, *self.drifts, self.adapt]
        if self.drifts and (self.file or not all(a < b for a, b in pairwise(ends))):
            raise OrlaError(
                f'task river: "drifts" is {self.drifts}; give increasing rows between 0 and adapt'
                f" ({self.adapt}), and none with a file"
            )
        for name, seeds in self.peers.items():
            if name not in PEERS or seeds < 0:
                raise OrlaError(
                    f'task river: "peers" has {name}: {seeds}; give a number of seeds to {[*PEERS]}'
                )
        if self.file is not None and Path(self.file).is_file() and not self.sha256:
            raise OrlaError(
                f"task river: {self.file} has no sha256; give the one that it has now, "
                f"{sha256(self.file)}, and another file is refused"
            )

    def split_names(self) -> list[str]:
        return ["stream"]

    @property
    def total_rows(self) -> int:
        return self.pretraining + self.adapt + self.heldout

    def episode(self, split: str, seeds: Sequence[int]) -> Episode:
        require_valid_episode(self, split, seeds, "rows")
        rate_selection_steps = int(self.chosen_on * self.adapt) // self.window * self.window
        if rate_selection_steps < 2 * self.window:
            raise OrlaError(
                f"task river: a rate is chosen by {rate_selection_steps} rows; give chosen_on and "
                "window such that these are two windows at least"
            )
        simulated, start = self.file is None, self.pretraining
        tables = [self.labelled_rows(seed) for seed in (seeds if simulated else seeds[:1])]
        X, Y, classes = zip(*tables, strict=True)
        X = [*map(_standardize_online, X)]
        whole = Stream(np.stack(X), np.stack(Y)) if simulated else Stream(X[0], Y[0])
        return self.make_episode(
            whole.slice_steps(slice(start, None)),
            source=self._source_text(),
            simulated=simulated,
            pretraining=whole.slice_steps(slice(start)) if start else None,
            selection_cut=self.adapt - self.window,
            rate_selection_steps=rate_selection_steps,
            n_out=classes[0],
        )

    def labelled_rows(self, seed: int, rows: int | None = None) -> LabelledRows:
        """Features (rows, features) as they come, categories (rows,), and how many there are.

        OrlaError: River is not installed, or has no such generator or parameter; the file is
        missing, another one, or has too few rows, no such column, no numbers, or a cell that is
        empty or infinite.
        """
        rows = rows or self.total_rows
        if self.file is not None:
            return self._read_file(rows)
        ends = [self.pretraining + row for row in self.drifts] + [self.total_rows]
        samples, classes = [], 0
        for concept, (begin, end) in enumerate(pairwise([0, *ends])):
            generator, classes = self._generator_and_class_count(seed, concept)
            samples += generator.take(min(end, rows) - begin) if begin < rows else []
        place = f"task river: {self.stream}"
        with reraise_in_one_line(place, "has features that are no numbers", "take another stream"):
            X = np.array([list(x.values()) for x, _ in samples], dtype=np.float64)
        return X, np.array([y for _, y in samples], dtype=np.int64), classes

    def _generator_and_class_count(self, seed: int, concept: int) -> tuple[Any, int]:
        """River's generator of a seed and concept, and its number of classes."""
        from orla.streams import datasets  # River is an extra

        generator = getattr(datasets.synth, self.stream, None)
        if generator is None:
            raise OrlaError(f"task river: river.datasets.synth has no {self.stream}; name another")
        key = (int.from_bytes(b"river"), self.seed, concept)
        numbers = np.random.SeedSequence(seed, spawn_key=key).generate_state(2, np.uint32)
        takes = signature(generator).parameters
        names = [name for name in ("seed", "seed_model", "seed_sample") if name in takes]
        seeds = dict(zip(names, map(int, numbers), strict=False))
        with reraise_in_one_line(
            f"task river: {self.stream}", "cannot be made", "correct parameters"
        ):
            instance = generator(**self.parameters, **seeds)
        # Of two classes River's own count may be 1, or missing.
        counts = {"Binary classification": 2, "Multi-class classification": instance.n_classes}
        if not (classes := counts.get(instance.task)):
            what = f"{self.stream} is a stream for {instance.task.lower()}"
            raise OrlaError(f"task river: {what}, not of one category a row; name another")
        return instance, classes

    def _read_file(self, rows: int) -> LabelledRows:
        mend, place = "get the file that is meant, or give its sha256", f"task river: {self.file}"
        path = require_sha256(self.file, self.sha256, mend)
        with reraise_in_one_line(path, "cannot be read as a table", "give a .csv with a head"):
            frame = pd.read_csv(path, nrows=self.total_rows)
        if self.target not in frame:
            raise OrlaError(f"{place} has no column {self.target} (target), but {', '.join(frame)}")
        if len(frame) < self.total_rows:
            raise OrlaError(
                f"{place} has {len(frame)} rows and {self.total_rows} are asked for; make"
                " pretraining, adapt or heldout smaller"
            )
        if len(places := np.argwhere(frame.isna() | frame.isin([np.inf, -np.inf]))):
            row, column = places[0]
            raise OrlaError(
                f"{place}: row {row + 1} of column {frame.columns[column]} is empty or infinite;"
                " fill it or leave it out"
            )
        Y, classes = pd.factorize(frame.pop(self.target), sort=True)
        with reraise_in_one_line(path, "has columns that are no numbers", "leave them out"):
            X = frame.to_numpy(dtype=np.float64)
        return X[:rows], Y[:rows].astype(np.int64), len(classes)

    def _source_text(self) -> str:
        if self.file is not None:
            return f"{self.stream} (SHA-256: {self.sha256[:12]})"
        parameters = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"River {version('river')}, {self.stream}({parameters})"


def _standardize_online(X: np.ndarray) -> np.ndarray:
    """Each feature standardized by the mean and SD of the rows up to its own."""
    X = X - X[0]  # so that squares do not lose digits
    count = np.arange(1, len(X) + 1)[:, None]
    mean = np.cumsum(X, 0) / count
    variance = np.cumsum(X * X, 0) / count - mean * mean
    sd = np.sqrt(np.maximum(variance, 0.0))
    return np.divide(X - mean, sd, out=np.zeros_like(X), where=sd > 1e-9)
