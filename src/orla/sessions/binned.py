"""Recordings that are binned already: inputs and targets by step in an .npz."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError, naming
from orla.files import load_arrays


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
    """A binned recording.

    Attributes:
        inputs: (steps, units) float64.
        targets: (steps, outputs) float64 in the file's own unit; or (steps,) int64 categories.
        bin_s: seconds a step.
        begins: (steps,) bool, True where a stretch begins, the first step included; None where
            the file is one stretch.
        name: its name in messages.
    """

    inputs: np.ndarray
    targets: np.ndarray
    bin_s: float
    begins: np.ndarray | None = None
    name: str = "the recording"

    def masks(self, state: str) -> tuple[np.ndarray | None, np.ndarray | None]:
        """`scored` and `starts` of a Stream, where the state is "kept" or "reset"."""
        if self.begins is None:
            return None, None
        if state == "reset":
            return None, self.begins
        scored = ~self.begins
        scored[0] = True
        return scored, None


def read(path: str | Path, source: Source, *, transform: str = "sqrt") -> Binned:
    """Read an .npz with inputs, targets and ``bin_s`` (seconds); other arrays are ignored.

    Args:
        path: the file.
        source: names and meaning of its arrays.
        transform: with "sqrt" inputs must be counts: whole numbers of at least 0.

    Raises:
        OrlaError: not an .npz, an array is missing, shapes disagree, or a value is invalid
            (negative or fractional counts or categories, NaN, bin_s of 0).
    """
    bounds = source.boundaries
    order = [*bounds.changes, *([bounds.counter] if bounds.counter else [])]
    wanted = [source.inputs, source.target, "bin_s", *order]
    arrays, present = load_arrays(path, wanted)
    with naming(path):
        if missing := [name for name in wanted if name not in arrays]:
            raise OrlaError(
                f"{', '.join(missing)} missing (the file has: {', '.join(present)}); "
                "save them, or name the arrays there are under binned in the config"
            )
        _check(arrays, order, source, transform)
    targets = arrays[source.target]
    if source.kind == "values" and targets.ndim == 1:
        targets = targets[:, None]
    return Binned(
        arrays[source.inputs].astype(np.float64),
        targets.astype(np.int64 if source.kind == "categories" else np.float64),
        float(arrays["bin_s"]),
        _begins(len(targets), arrays, bounds) if order else None,
        str(path),
    )


def _check(arrays: dict[str, np.ndarray], order: list[str], source: Source, transform: str) -> None:
    """Refuse arrays whose shapes disagree or whose values cannot be."""
    inputs, targets, bin_s = arrays[source.inputs], arrays[source.target], arrays["bin_s"]
    steps = len(inputs) if inputs.ndim else 0
    _require_shape(source.inputs, inputs, (steps, "units"))
    if inputs.size == 0:
        raise OrlaError(f"{source.inputs}: the recording is empty; use a file with steps and units")
    columns = ("outputs",) if source.kind == "values" and targets.ndim > 1 else ()
    _require_shape(source.target, targets, (steps, *columns))
    _require_shape("bin_s", bin_s, ())
    for name in (source.inputs, source.target, "bin_s"):
        _require_finite(name, arrays[name])
    if transform == "sqrt" and ((inputs < 0).any() or (inputs != np.floor(inputs)).any()):
        raise OrlaError(
            f"{source.inputs}: negative or fractional values; give the spikes of each bin,"
            ' or set preparation.transform to "none"'
        )
    if float(bin_s) <= 0:
        raise OrlaError(f"bin_s: {float(bin_s):g} is no length of a bin; give it in seconds")
    if source.kind == "categories" and (targets != np.floor(targets)).any():
        raise OrlaError(
            f"{source.target}: fractional values are no categories; give whole numbers, or"
            ' set binned.kind to "values"'
        )
    for name in order:
        _require_shape(name, arrays[name], (steps,))
        _require_finite(name, arrays[name])


def _begins(steps: int, arrays: dict[str, np.ndarray], boundaries: Boundaries) -> np.ndarray:
    begins = np.zeros(steps, dtype=bool)
    begins[0] = True
    for name in boundaries.changes:
        begins[1:] |= arrays[name][1:] != arrays[name][:-1]
    if boundaries.counter:
        begins[1:] |= np.diff(arrays[boundaries.counter].astype(np.int64)) != 1
    return begins


def _require_shape(name: str, array: np.ndarray, shape: tuple[int | str, ...]) -> None:
    """Refuse an array of another shape; a word in `shape` stands for any length."""
    fits = array.ndim == len(shape) and all(
        isinstance(size, str) or size == length
        for size, length in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(map(str, shape))
        raise OrlaError(f"{name}: shape {array.shape}, expected ({wanted}); mend the array")


def _require_finite(name: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "biuf":
        raise OrlaError(f"{name}: holds {array.dtype}, not numbers; save numbers")
    bad = np.size(array) - np.count_nonzero(np.isfinite(array))
    if bad:
        raise OrlaError(f"{name}: {bad} values are NaN or infinite; remove those bins")
