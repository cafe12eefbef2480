"""What the arrays of a binned recording are taken for, and what a user is told of it."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orla.errors import OrlaError
from orla.files import load_arrays_and_names

# Names under which arrays of inputs and of targets are looked for, the first ones first.
NAMES = {
    "inputs": ("counts", "spikes", "emg", "events", "inputs", "X"),
    "target": ("vel", "velocity", "label", "labels", "targets", "y", "Y", "position", "pos"),
}
# Arrays by which steps are cut into stretches: where one changes, and where one does not count on.
CHANGES, COUNTER = "trial", "timestep"
# What a target's name says of it; else whole numbers are categories where few of them, each often.
_LABELS, _VALUES = re.compile("label|class|categor|gesture"), re.compile("vel|pos|speed|force")
_MOST_CATEGORIES, _OFTEN = 20, 10


def are_categories(name: str, targets: np.ndarray) -> bool:
    """Whether targets are class labels: one column of few whole numbers that recur."""
    column = targets[:, 0] if targets.shape[1:] == (1,) else targets
    if column.ndim != 1 or column.dtype.kind not in "biuf":
        return False
    values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    if not values.size or (values != np.floor(values)).any() or np.median(counts) < _OFTEN:
        return False
    is_few = values[0] >= 0 and len(values) <= _MOST_CATEGORIES
    return bool(_LABELS.search(name.lower()) or (is_few and not _VALUES.search(name.lower())))


def target_type_text(name: str, targets: np.ndarray) -> str:
    """How a target is taken, and the option of `orla new` that takes it otherwise."""
    if targets.ndim == 1:
        count = len(np.unique(targets))
        return f"{name}, as {count} categories; as numbers: --set binned.kind=values"
    if targets.shape[1] == 1:
        other = "" if (targets < 0).any() else "; as categories: --set binned.kind=categories"
        return f"{name}, as numbers{other}"
    return f"{name}, as numbers, {targets.shape[1]} columns; another array: --target NAME"


def stretch_arrays(path: Path, target: str) -> set[str]:
    """Of `CHANGES` and `COUNTER` what a file has with an entry a step, as its `target` has."""
    arrays, _ = load_arrays_and_names(path, [target, CHANGES, COUNTER])
    steps = np.shape(arrays.pop(target, None))[:1]
    return {name for name, array in arrays.items() if array.shape == steps}


def find_array_name(what: str, present: Sequence[str], path: Path) -> str:
    """The first of `NAMES` of inputs or of a target that is present in a file."""
    if fits := [name for name in NAMES[what] if name in present]:
        return fits[0]
    raise OrlaError(
        f"{path}: which array holds the {what}? There are {', '.join(present)}; name one with "
        f"--{what}"
    )
