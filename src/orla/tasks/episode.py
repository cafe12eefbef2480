"""An episode: what one model lives through, and the file that it stands in."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.files import atomic
from orla.tasks.stream import Stream, joined

_PARTS = ("pretraining", "adapt", "heldout", "reference")


@dataclass(frozen=True)
class Episode:
    """What models live through: pretraining, a stream to adapt to, and a part held out.

    Attributes:
        pretraining: what networks are pretrained on, or None.
        adapt: what they adapt to.
        selection_cut: step of `adapt` where learning-rate selection stops learning and begins to
            score.
        heldout: what follows `adapt`, where adapted weights are scored frozen.
        reference: a stream that has not drifted, which the pretrained network runs through, or
            None; `reference_from` is its first step that is scored.
        window: steps of a window; traces, segments and snapshots are multiples of it.
        n_out: outputs of a network; for categories, how many there are.
        loss: the name of a loss.
        label, simulated, dataset: what captions and provenance say of the data.
    """

    adapt: Stream
    heldout: Stream
    selection_cut: int
    n_out: int
    pretraining: Stream | None = None
    reference: Stream | None = None
    reference_from: int = 0
    window: int = 200
    loss: str = "squared_error"
    label: str = ""
    simulated: bool = True
    dataset: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.selection_cut < len(self.adapt):
            raise OrlaError(
                f"episode: selection_cut is {self.selection_cut} of {len(self.adapt)} steps that"
                " are adapted to; it must leave steps on both sides"
            )
        if self.reference is not None and not 0 <= self.reference_from < len(self.reference):
            raise OrlaError(
                f"episode: reference_from is {self.reference_from} of {len(self.reference)} steps;"
                " at least one must be scored"
            )
        if len(self.heldout) == 0:
            raise OrlaError("episode: heldout is empty; leave steps to score on")

    @property
    def whole(self) -> Stream:
        """`adapt` and `heldout` as one stream."""
        return joined(self.adapt, self.heldout)

    @property
    def n_in(self) -> int:
        """Inputs of a network."""
        return self.adapt.n_in

    def save(self, path: Path | str) -> None:
        """Write to an .npz file, whole or not at all, with a digest of all that it holds."""
        arrays = self._arrays()
        meta = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _PARTS}
        text = json.dumps(meta, sort_keys=True)
        with atomic(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays, meta=np.array(text), digest=np.array(_digest(arrays, text)))

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {}
        for part in _PARTS:
            stream = getattr(self, part)
            if stream is None:
                continue
            for f in fields(Stream):
                if (array := getattr(stream, f.name)) is not None:
                    arrays[f"{part}_{f.name}"] = np.ascontiguousarray(array)
        return arrays

    @classmethod
    def load(cls, path: Path | str) -> Episode:
        """Read what `save` wrote.

        Raises:
            OrlaError: The file is missing, is no episode, or differs from its digest.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in file}
            text, digest = str(held.pop("meta")), str(held.pop("digest"))
            if digest != _digest(held, text):
                raise ValueError("its contents differ from its digest: the file is damaged")
            streams: dict[str, dict[str, np.ndarray]] = {}
            for name, array in held.items():
                part, _, of = name.partition("_")
                streams.setdefault(part, {})[of] = array
            return cls(**{p: Stream(**a) for p, a in streams.items()}, **json.loads(text))
        except FileNotFoundError:
            raise OrlaError(
                f"{path}: no such file; let snakemake make it: snakemake {path}"
            ) from None
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise OrlaError(f"{path}: not an episode ({error}); delete it and run again") from None


def _digest(arrays: dict[str, np.ndarray], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
