"""The gradients that a learner hands to its optimizer with frozen weights; the files for them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.files import atomic, load_arrays_and_names
from orla.learners.base import Learner
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer, State
from orla.probes.base import Probe, Update
from orla.schema import nearest_hint

_SEGMENT_STEPS = 200


class _ZeroUpdates(Optimizer):
    """Moves nothing, whatever the gradient."""

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: torch.zeros_like(g) for name, g in gradients.items()}, state


@dataclass(frozen=True)
class RawGradients(Probe):
    """The gradients themselves, parameters in the order of the network's."""

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        return state, {n: update.gradients[n] for n in update.params if n in update.gradients}


def gradients(
    learner: Learner,
    params: Parameters,
    X: np.ndarray,
    Y: np.ndarray,
    on_steps: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """The gradient of each update with frozen weights, from the network's initial state on.

    Of one network, in its precision, on X (steps, n_in) and Y (steps, n_out), by the squared error:
    {parameter: (updates, *shape)}, parameters that the learner leaves alone being absent; and
    "step" (updates,), the last step of each update, counted from 0. A window learner's gradient is
    that of the window's summed losses, and steps that do not fill a last window are passed over. An
    OrlaError where the stream is shorter than one update.
    """
    batch = {name: p[None] for name, p in params.items()}
    rates = params["W_out"].new_zeros(1)
    stride = learner.stride
    segment = stride * math.ceil(_SEGMENT_STEPS / stride)
    loop = Loop(learner, _ZeroUpdates(), SquaredError(), probes=[RawGradients()], segment=segment)
    stream = {n: torch.as_tensor(a, dtype=rates.dtype) for n, a in (("x", X), ("y", Y))}
    result = loop.run(loop.start(batch), rates, stream, on_segment=on_steps)
    series = {name: values[0] for name, values in result.series.items()}
    return series | {"step": np.arange(stride - 1, len(X), stride)}


def read_stream(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """X (steps, n_in) and Y (steps, n_out) of a stream; an OrlaError names what is wrong."""
    arrays, _ = load_arrays_and_names(path)
    X = _checked_matrix(path, arrays, "X", "steps, in")
    Y = _checked_matrix(path, arrays, "Y", "steps, out")
    if len(X) != len(Y):
        raise OrlaError(f"{path}: X has {len(X)} steps and Y has {len(Y)}; give both as many")
    return X, Y


def read_weights(
    path: Path, part: str | Mapping[str, Any], n_in: int, n_out: int, dtype: torch.dtype
) -> tuple[Architecture, Parameters]:
    """The network of an architecture (by name, or kind and options) and its weights in `path`."""
    arrays, _ = load_arrays_and_names(path)
    options = {"kind": part} if isinstance(part, str) else part
    name = options["kind"]
    hidden = _checked_matrix(path, arrays, "W_out", "out, hidden").shape[1]
    specification = {"hidden": hidden, **options}
    network = catalogue.make("architecture", specification, n_in=n_in, n_out=n_out)
    shapes = network.shapes()
    if unknown := [key for key in arrays if key not in shapes]:
        mend = nearest_hint(unknown[0], list(shapes))
        raise OrlaError(f"{path}: {unknown[0]} is no parameter of {name}; {mend}")
    for key, shape in shapes.items():
        if key not in arrays:
            raise OrlaError(f"{path}: {key} is missing; {name} needs {', '.join(shapes)}")
        _check_numbers(path, key, arrays[key])
        if arrays[key].shape != shape:
            raise OrlaError(
                f"{path}: {key} has shape {arrays[key].shape}, not {shape}, which {name} needs with"
                f" {network.hidden} units (columns of W_out), {n_in} inputs and {n_out} outputs"
            )
    return network, {
        key: torch.as_tensor(arrays[key].astype(np.float64), dtype=dtype) for key in shapes
    }


def _checked_matrix(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, axes: str
) -> np.ndarray:
    """The matrix of a name as float64; OrlaError where it is missing, empty or not finite."""
    if name not in arrays:
        raise OrlaError(f"{path}: {name} is missing; it needs {name} ({axes})")
    _check_numbers(path, name, array := arrays[name])
    if array.ndim != 2 or 0 in array.shape:
        raise OrlaError(
            f"{path}: {name} has shape {array.shape};"
            f" give it as ({axes}), with at least one of each"
        )
    return array.astype(np.float64)


def _check_numbers(path: Path, name: str, array: np.ndarray) -> None:
    """Refuse (OrlaError) an array that does not hold finite real numbers."""
    if array.dtype.kind not in "fiu":
        raise OrlaError(f"{path}: {name} holds {array.dtype}; give real numbers")
    if not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise OrlaError(f"{path}: {name} is not finite at {first}; give finite numbers")


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file, whole or not at all. Raises OrlaError where it cannot be written."""
    try:
        with atomic(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)
    except OSError as error:
        raise OrlaError(f"{path}: cannot be written ({error.strerror})") from None
