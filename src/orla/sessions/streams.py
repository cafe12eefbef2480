"""The streams of two sessions, and their file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from orla.errors import OrlaError
from orla.provenance.digest import differences
from orla.tasks.stream import Stream, StreamBundle

_SETTINGS = "settings"


@dataclass(frozen=True)
class Streams(StreamBundle):
    """The two sessions of a pair.

    Attributes:
        a, b: the sessions to pretrain on and to adapt to, of the same inputs and outputs.
        bin_s: seconds a step.
        dataset: name, source, simulated (bool), label, features, and an account of each session.
        categories: number of categories where targets are categories; None for values.
        readings: how bins of each session become inputs, "a" and "b" (`InputTransform.to_record`);
            and of "target" the `mean` and `sd` of its z-score, where it is a value. None where
            they are not known.
    """

    a: Stream
    b: Stream
    bin_s: float
    dataset: dict[str, Any]
    categories: int | None = None
    readings: dict[str, Any] | None = None

    @property
    def n_out(self) -> int:
        """Outputs of a network: columns of Y, or the number of categories."""
        return self.a.Y.shape[1] if self.categories is None else self.categories

    def write(self, path: Path | str, task: Mapping[str, Any]) -> None:
        """`save`, with the settings of the task's specification that streams depend on."""
        replace(self, dataset=self.dataset | {_SETTINGS: stream_settings(task)}).save(path)

    @classmethod
    def read(cls, path: Path | str, task: Mapping[str, Any]) -> Self:
        """`load`, of a pair of a task as it is specified.

        OrlaError: As in `load`, or the streams are of other settings, such as another seed.
        """
        streams = cls.load(path)
        settings = streams.dataset.get(_SETTINGS, {})
        for name, value, setting in differences(settings, stream_settings(task)):
            raise OrlaError(
                f"{path}: made of other settings ({name} is {value!r}, not {setting!r}); delete it"
                " and run again"
            )
        return streams


def stream_settings(task: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a task that its streams depend on: of `parts` tail_steps alone."""
    if "parts" not in task:
        return dict(task)
    return {**task, "parts": {k: v for k, v in task["parts"].items() if k == "tail_steps"}}


def episode_settings(task: Mapping[str, Any], split: str | None = None) -> dict[str, Any]:
    """The settings of a task that a split's episode depends on; without one, its pretraining part.

    Of recordings it holds the one split, or no parts but session A's tail.
    """
    if split is None or "parts" not in task:
        return stream_settings(task)
    parts = dict(task["parts"])
    if "splits" in parts:
        parts["splits"] = {k: v for k, v in parts["splits"].items() if k == split}
    return {**task, "parts": parts}
