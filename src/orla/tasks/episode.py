"""An episode: all the data that one model sees, and its file."""

from dataclasses import dataclass
from typing import Any

from orla.errors import OrlaError
from orla.tasks.stream import Stream, StreamBundle, concatenate


@dataclass(frozen=True)
class Episode(StreamBundle):
    """All the data that a model sees: pretraining, a stream to adapt to, and a part held out.

    Attributes:
        pretraining, adapt: what networks are pretrained on, or None; what they adapt to.
        selection_cut: step of `adapt` at which weights are frozen to select the learning rate: the
            steps after it are scored.
        rate_selection_steps: first steps of `adapt` that choose the learning rate; None: all.
        heldout: the steps after `adapt`, on which adapted weights are scored frozen.
        reference: a stream without drift, on which the pretrained network is scored from step
            `reference_from` on; or None.
        window: steps of a window; traces, segments and snapshots are multiples of it.
        n_out, loss: outputs of a network, or how many categories; the name of a loss.
        label, simulated, dataset: the data's description for captions and provenance.
    """

    adapt: Stream
    heldout: Stream
    selection_cut: int
    n_out: int
    pretraining: Stream | None = None
    reference: Stream | None = None
    reference_from: int = 0
    window: int = 200
    rate_selection_steps: int | None = None
    loss: str = "squared_error"
    label: str = ""
    simulated: bool = True
    dataset: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.window < 1:
            raise OrlaError(f"episode: window is {self.window} steps; give 1 at least")
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
        for part in ("pretraining", "adapt", "heldout", "reference"):
            if (stream := getattr(self, part)) is not None:
                self._check_part(part, stream)

    def _check_part(self, part: str, stream: Stream) -> None:
        """Refuse a part of another shape than `adapt`, or without a step to learn or score."""
        shapes = [(s.X.shape[:-2], s.n_in, s.has_categories) for s in (self.adapt, stream)]
        if shapes[0] != shapes[1]:
            raise OrlaError(
                f"episode: {part} has X {stream.X.shape}, Y {stream.Y.dtype} and adapt has X "
                f"{self.adapt.X.shape}, Y {self.adapt.Y.dtype}; give all parts the same seeds, "
                "inputs and kind of target"
            )
        if not stream.has_categories and stream.Y.shape[-1] != self.n_out:
            raise OrlaError(
                f"episode: {part} has targets of {stream.Y.shape[-1]} values, and n_out is "
                f"{self.n_out}; make them equal"
            )
        if stream.has_categories and stream.Y.size and stream.Y.max() >= self.n_out:
            raise OrlaError(
                f"episode: {part} has category {stream.Y.max()}, and n_out is {self.n_out}; "
                "categories are 0 to n_out - 1"
            )
        boundary = {"adapt": self.selection_cut, "reference": self.reference_from}.get(part, 0)
        for first, last in [(boundary, len(stream))] + [(0, boundary)] * (part == "adapt"):
            if not stream.mask[..., first:last].any(-1).all():
                raise OrlaError(
                    f"episode: {part} has no scored step from {first} to {last}; leave steps to "
                    "learn from and to score"
                )

    @property
    def whole(self) -> Stream:
        """`adapt` and `heldout` as one stream."""
        return concatenate(self.adapt, self.heldout)

    @property
    def n_in(self) -> int:
        """Inputs of a network."""
        return self.adapt.n_in
