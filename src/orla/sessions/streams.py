"""Streams: what the networks see of a session, one row a time step."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.files import atomic


@dataclass(frozen=True)
class Stream:
    """One session after binning.

    Attributes:
        X: inputs, float64 (steps, n_inputs), z-scored.
        Y: targets, float64 (steps, 2), z-scored velocity.
    """

    X: np.ndarray
    Y: np.ndarray

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.Y.ndim != 2 or len(self.X) != len(self.Y):
            raise OrlaError(
                f"stream: X {self.X.shape} and Y {self.Y.shape} do not fit together; "
                "give X (steps, n_inputs) and Y (steps, n_outputs)"
            )

    def __len__(self) -> int:
        return len(self.X)

    def part(self, span: slice) -> Stream:
        """The steps of `span`, as views."""
        return Stream(self.X[span], self.Y[span])


@dataclass(frozen=True)
class Streams:
    """The two sessions of a study.

    Attributes:
        a: the session to pretrain on.
        b: the session to adapt to.
        bin_s: seconds a step.
        dataset: name, source, simulated (bool), label, and how the features were made.
    """

    a: Stream
    b: Stream
    bin_s: float
    dataset: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write to an .npz file, whole or not at all."""
        with atomic(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(
                file,
                a_X=self.a.X,
                a_Y=self.a.Y,
                b_X=self.b.X,
                b_Y=self.b.Y,
                bin_s=np.float64(self.bin_s),
                dataset=np.array(json.dumps(self.dataset, sort_keys=True)),
            )

    @classmethod
    def load(cls, path: Path | str) -> Streams:
        """Read what `save` wrote.

        Raises:
            OrlaError: the file is missing, or is not such a file.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(
                    a=Stream(arrays["a_X"], arrays["a_Y"]),
                    b=Stream(arrays["b_X"], arrays["b_Y"]),
                    bin_s=float(arrays["bin_s"]),
                    dataset=json.loads(str(arrays["dataset"])),
                )
        except FileNotFoundError:
            raise OrlaError(f"{path}: no such file; run the sessions chapter first") from None
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise OrlaError(
                f"{path}: not a streams file ({error}); delete it and run the sessions chapter"
            ) from None
