"""A stream: inputs and targets of a recording or a task, one row a time step."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from orla.errors import OrlaError
from orla.provenance.arrays import read_arrays, write_arrays


@dataclass(frozen=True)
class Stream:
    """Inputs and targets of consecutive steps.

    Attributes:
        X: inputs, float64: (steps, n_in) shared by all seeds, or (seeds, steps, n_in).
        Y: targets: values, float64 (..., steps, n_out), or categories, int64 (..., steps).
        scored: bool (..., steps), False at steps that are neither learned from nor scored, such as
            a target across a gap; None where every step counts.
        starts: bool (..., steps), True where a trial begins: the network's state is set to its
            initial one before that step; None where the state runs through.
    """

    X: np.ndarray
    Y: np.ndarray
    scored: np.ndarray | None = None
    starts: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.X.ndim not in (2, 3) or self.X.dtype != np.float64:
            raise OrlaError(
                f"stream: X is {self.X.dtype} {self.X.shape}; give float64 (steps, n_in) or"
                " (seeds, steps, n_in)"
            )
        lead = self.X.shape[:-1]
        values = self.Y.dtype == np.float64 and self.Y.ndim == self.X.ndim
        categories = self.Y.dtype == np.int64 and self.Y.ndim == self.X.ndim - 1
        if not (values or categories) or self.Y.shape[: len(lead)] != lead:
            raise OrlaError(
                f"stream: X {self.X.shape} and Y {self.Y.dtype} {self.Y.shape} do not fit together;"
                " give Y as float64 (..., steps, n_out) or int64 categories (..., steps)"
            )
        for name in ("scored", "starts"):
            mask = getattr(self, name)
            if mask is not None and (mask.dtype != np.bool_ or mask.shape != lead):
                raise OrlaError(
                    f"stream: {name} is {mask.dtype} {mask.shape}; give bool {lead}, one a step"
                )
        if categories and self.Y.size and self.Y.min() < 0:
            raise OrlaError(f"stream: Y holds category {self.Y.min()}; categories count from 0")
        for name in ("X", "Y") if values else ("X",):
            finite = np.isfinite(getattr(self, name))
            if not finite.all():
                first = tuple(np.argwhere(~finite)[0].tolist())
                raise OrlaError(f"stream: {name} is not finite at {first}; mend or cut that step")

    def __len__(self) -> int:
        return self.X.shape[-2]

    @property
    def per_seed(self) -> bool:
        """Whether each seed has a stream of its own."""
        return self.X.ndim == 3

    @property
    def n_in(self) -> int:
        """Inputs a step."""
        return self.X.shape[-1]

    @property
    def mask(self) -> np.ndarray:
        """bool (..., steps), True at steps that are scored."""
        return np.ones(self.X.shape[:-1], bool) if self.scored is None else self.scored

    @property
    def has_categories(self) -> bool:
        """Whether the targets are categories."""
        return self.Y.ndim < self.X.ndim

    def slice_steps(self, span: slice) -> Self:
        """The steps of `span`, as views."""
        lead = (slice(None),) if self.per_seed else ()
        arrays = vars(self).items()
        return type(self)(**{name: a if a is None else a[(*lead, span)] for name, a in arrays})


def concatenate(first: Stream, second: Stream) -> Stream:
    """Two streams of which the second follows the first."""

    def field(name: str) -> np.ndarray | None:
        pair = [(stream, getattr(stream, name)) for stream in (first, second)]
        if all(array is None for _, array in pair):
            return None
        neutral = name == "scored"
        arrays = [np.full(s.X.shape[:-1], neutral) if a is None else a for s, a in pair]
        return np.concatenate(arrays, axis=1 if first.per_seed else 0)

    return Stream(**{name: field(name) for name in vars(first)})


class StreamBundle:
    """Base of dataclasses whose fields are streams or values that JSON can hold: their file."""

    def save(self, path: Path | str) -> None:
        """Write to an .npz file, whole or not at all, with a digest of itself."""
        streams = {name: v for name, v in vars(self).items() if isinstance(v, Stream)}
        arrays = {
            f"{name}_{field}": np.ascontiguousarray(array)
            for name, stream in streams.items()
            for field, array in vars(stream).items()
            if array is not None
        }
        values = {name: v for name, v in vars(self).items() if name not in streams}
        write_arrays(arrays, path, {"fields": values})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote."""
        arrays, about = read_arrays(path)
        streams: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            stream, _, field = name.partition("_")
            streams.setdefault(stream, {})[field] = array
        try:
            parts = {name: Stream(**fields) for name, fields in streams.items()}
            return cls(**about["fields"], **parts)
        except (KeyError, TypeError, OrlaError) as error:
            what = cls.__name__.lower()
            raise OrlaError(f"{path}: no {what} ({error}); delete it and run again") from None
