"""Recordings that are binned already: inputs and targets by step in an .npz."""

import sys
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError, prefix_errors
from orla.files import load_arrays_and_names
from orla.sessions import checks, clocks
from orla.sessions.preparation import Preparation
from orla.sessions.stand_ins import refuse_sentinel_values

# What is longer is in milliseconds, unless the config says the same.
_LONGEST_BIN_S = 2.0


@dataclass(frozen=True)
class Boundaries:
    """Rows of a file at which a new stretch of consecutive steps begins."""

    changes: list[str] = option(
        [], "Arrays, such as [trial]; where one changes, a new stretch begins."
    )
    counter: str | None = option(
        None, "Array, such as timestep, that rises by one at each step within a stretch."
    )
    state: str = option(
        "kept",
        "At a new stretch: state reset, or state kept and the first step not scored.",
        choices=("kept", "reset"),
    )


@dataclass(frozen=True)
class Source:
    """Names and meaning of the arrays in .npz files of a recording."""

    files: dict[str, str] = option({}, "File of each session, by the session's name.")
    inputs: str = option("counts", "Array of inputs, (steps, units).")
    target: str = option("vel", "Array of targets: (steps, outputs) or (steps,).")
    kind: str = option(
        "values",
        "Targets are values, or categories given as whole numbers.",
        choices=("values", "categories"),
    )
    columns: str = option(
        "different",
        "Whether column i is the same unit in both files of a pair. If so, channels or principal "
        "components of session A serve both; if not, each file is reduced to its own components, "
        "which is a change of inputs by itself.",
        choices=("different", "same"),
    )
    boundaries: Boundaries = field(default_factory=Boundaries)


@dataclass
class Binned:
    """A binned recording: a step is `bin_s` seconds.

    Attributes:
        inputs: (steps, units), counts or other numbers.
        targets: (steps, outputs) float64 in the file's own unit; or (steps,) int64 categories.
        begins: (steps,) bool, True where a stretch begins, the first step included; None for one.
        state: "kept" or "reset" where a stretch begins, as in `Boundaries`.
        keys: what each column of inputs is on every day; its number where that is all there is.
        name, columns, outputs: of the recording and its columns of inputs and targets, in messages.
        about: what the dataset record says of targets and inputs.
        account: fields of an `Account` that are known before the stream is made.
    """

    inputs: np.ndarray
    targets: np.ndarray
    bin_s: float
    begins: np.ndarray | None = None
    name: str = "the recording"
    state: str = "kept"
    keys: list[Hashable] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=lambda: {"target": "vel"})
    account: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = range(self.inputs.shape[1])
        self.keys = self.keys or [*numbers]
        self.columns = self.columns or [f"column {i}" for i in numbers]
        self.outputs = self.outputs or [
            f"{self.about['target']} column {i}" for i in range(self.targets[:1].size)
        ]

    @property
    def by_number(self) -> bool:
        """Whether columns have numbers alone."""
        return self.keys[0] == 0

    @property
    def channel_labels(self) -> list[Any]:
        """Channels in a record: names, with the array where two have one; or numbers of columns."""
        if self.by_number:
            return self.keys
        count = Counter(name for _, name in self.keys)
        return [name if count[name] == 1 else f"{array} {name}" for array, name in self.keys]

    def scored_and_start_masks(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """`scored` and `starts` of a Stream."""
        if self.begins is None:
            return None, None
        if self.state == "reset":
            return None, self.begins
        score_mask = ~self.begins
        score_mask[0] = True
        return score_mask, None


def read_binned(
    path: str | Path, source: Source, preparation: Preparation = Preparation()
) -> Binned:
    """Read an .npz with inputs, targets and ``bin_s`` (seconds); other arrays are named only.

    Steps with NaN in inputs or targets are left out; a new stretch begins after them. OrlaError:
    not an .npz, an array is missing, shapes disagree, a value is invalid (negative or fractional
    categories, or counts for their root, bin_s of 0), or more is NaN than `preparation` allows.
    """
    bounds = source.boundaries
    order = [*bounds.changes, *filter(None, [bounds.counter])]
    names = [source.inputs, source.target, "bin_s", *order]
    arrays, present = load_arrays_and_names(path, names)
    with prefix_errors(path):
        if absent := [name for name in names if name not in arrays]:
            raise OrlaError(
                f"{', '.join(absent)} missing (the file has: {', '.join(present)}); "
                "save them, or name the arrays there are under binned in the config"
            )
        if others := [name for name in present if name not in names]:
            print(
                f"{path}: not used: {', '.join(others)} (binned.boundaries takes arrays that tell "
                "trials or count steps)",
                file=sys.stderr,
            )
        arrays["bin_s"] = arrays["bin_s"].reshape(() if arrays["bin_s"].size == 1 else -1)
        if source.kind == "categories" and arrays[source.target].shape[1:] == (1,):
            arrays[source.target] = arrays[source.target][:, 0]
        whole = _checked_finite_mask(arrays, order, source, preparation.transform)
        inputs, targets = arrays[source.inputs][whole], arrays[source.target][whole]
        bin_s, steps = float(clocks.restore_time_decimals(arrays["bin_s"])), len(whole)
        if len(inputs) < max(1, preparation.least_kept * steps):
            mend = "mend them, or lower preparation.least_kept"
            if (lost := np.flatnonzero(~np.isfinite(arrays[source.inputs]).any(axis=0))).size:
                mend = f"leave out column {lost[0]} of {source.inputs}, which has no number"
            raise OrlaError(
                f"{source.inputs}, {source.target}: {steps - len(inputs)} of {steps} steps hold NaN"
                f" or infinite values; {mend}"
            )
        if bin_s > _LONGEST_BIN_S and not np.isclose(bin_s, preparation.bin_s, rtol=1e-6, atol=0):
            raise OrlaError(
                f"bin_s: a bin of {bin_s:g} s is long; give it in seconds, or, where that is meant,"
                f" set preparation.bin_s to {bin_s:g}"
            )
        begins = _stretch_begins(whole, arrays, bounds) if order or len(inputs) < steps else None
        if source.kind == "values":
            targets = targets[:, None] if targets.ndim == 1 else targets
            refuse_sentinel_values(source.target, targets)
        if blank := _unlikely_blank_steps(inputs):
            print(
                f"{path}: for {blank * bin_s:.4g} s all {source.inputs} are 0, which is no chance: "
                "where this is padding, or recording had paused, leave these steps out",
                file=sys.stderr,
            )
    seconds_lost = round((steps - len(inputs)) * bin_s, 3)
    dropped = {"NaN": seconds_lost} if seconds_lost else {}
    return Binned(
        inputs.astype(np.float64),
        targets.astype(np.int64 if source.kind == "categories" else np.float64),
        bin_s,
        begins,
        str(path),
        bounds.state,
        columns=[f"{source.inputs} column {i}" for i in range(inputs.shape[1])],
        about={"target": source.target},
        account={"seconds": round(steps * bin_s, 3), "seconds_dropped": dropped},
    )


def _unlikely_blank_steps(inputs: np.ndarray) -> int:
    """Steps of runs without any input that are too long for chance, at the mean rate."""
    blank = ~inputs.any(axis=1)
    lengths = np.diff(checks.find_runs(blank), axis=1)
    per_step = np.abs(inputs).sum() / max(np.count_nonzero(~blank), 1)
    return int(lengths[lengths * per_step > clocks.NO_CHANCE].sum())


def _checked_finite_mask(
    arrays: dict[str, np.ndarray], boundary_names: list[str], source: Source, transform: str
) -> np.ndarray:
    """Refuse arrays of shapes or values that cannot be; answer (steps,), which have no NaN."""
    inputs, targets, bin_s = arrays[source.inputs], arrays[source.target], arrays["bin_s"]
    steps = len(inputs) if inputs.ndim else 0
    if inputs.ndim == 3:
        raise OrlaError(
            f"{source.inputs}: shape {inputs.shape}: join the trials, each its steps in a row, as "
            f"reshape(-1, {inputs.shape[2]}) does of (trials, steps, units), and save an array "
            "`trial` of their numbers"
        )
    most = max(inputs.shape, default=0)
    if most == max(targets.shape, default=0) and {steps, *targets.shape[:1]} != {most}:
        raise OrlaError(
            f"{source.inputs} is {inputs.shape} and {source.target} {targets.shape}: steps come "
            f"first in both; transpose what has its {most} steps second"
        )
    whole = _is_finite(source.inputs, inputs, (steps, "units")).all(axis=1)
    if inputs.size == 0:
        raise OrlaError(f"{source.inputs}: the recording is empty; use a file with steps and units")
    columns = ("outputs",) if source.kind == "values" and targets.ndim > 1 else ()
    is_finite = _is_finite(source.target, targets, (steps, *columns))
    whole &= is_finite.reshape(steps, -1).all(axis=1)
    is_number = _is_finite("bin_s", bin_s, ())
    inputs, targets = inputs[whole], targets[whole]
    if transform == "sqrt" and ((inputs < 0).any() or (inputs != np.floor(inputs)).any()):
        raise OrlaError(
            f"{source.inputs}: negative or fractional values; give the spikes of each bin,"
            ' or set preparation.transform to "none"'
        )
    if not (is_number and float(bin_s) > 0):
        raise OrlaError(f"bin_s: {float(bin_s):g} is no length of a bin; give it in seconds")
    if source.kind == "categories" and ((targets != np.floor(targets)) | (targets < 0)).any():
        raise OrlaError(
            f"{source.target}: negative or fractional values are no categories; give whole numbers "
            'from 0, leave unlabelled steps out, or set binned.kind to "values"'
        )
    for name in boundary_names:
        if arrays[name].dtype.kind in "SU":  # names of trials
            arrays[name] = np.unique(arrays[name], return_inverse=True)[1].reshape(-1)
        if bad := steps - np.count_nonzero(_is_finite(name, arrays[name], (steps,))):
            raise OrlaError(f"{name}: {bad} values are NaN or infinite; remove those bins")
    return whole


def _stretch_begins(
    whole: np.ndarray, arrays: dict[str, np.ndarray], boundaries: Boundaries
) -> np.ndarray:
    """(steps,) bool, True where a stretch begins, of the steps of `whole`."""
    begins = np.append(True, ~whole[:-1])
    for name in boundaries.changes:
        begins[1:] |= arrays[name][1:] != arrays[name][:-1]
    if boundaries.counter:
        consecutive = np.abs(np.diff(arrays[boundaries.counter].astype(np.float64)) - 1) < 1e-6
        if not consecutive.any():
            raise OrlaError(
                f"{boundaries.counter}: rises by one at no step; name an array that counts steps"
            )
        begins[1:] |= ~consecutive
    # A boundary inside steps that are left out is one before the next step that is not.
    return np.diff(np.cumsum(begins)[whole], prepend=0) > 0


def _is_finite(name: str, array: np.ndarray, shape: tuple[int | str, ...]) -> np.ndarray:
    """Which values are finite; an array of another shape, or of no numbers, is refused.

    A word in `shape` stands for any length.
    """
    fits = [isinstance(n, str) or n == m for n, m in zip(shape, array.shape, strict=False)]
    if array.ndim != len(shape) or not all(fits):
        words = ", ".join(map(str, shape))
        raise OrlaError(f"{name}: shape {array.shape}, expected ({words}); mend the array")
    if array.dtype.kind not in "biuf":
        raise OrlaError(f"{name}: holds {array.dtype}, not numbers; save numbers")
    return np.isfinite(array)
