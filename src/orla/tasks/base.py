"""What a task is: a source of episodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from orla.catalogue import Part
from orla.tasks.episode import Episode


class Task(Part, ABC):
    """Something to be learned online. Its options are the fields that a config may set.

    ``needs_files`` says whether rules prepare files before `episode` can answer.
    """

    kind: ClassVar[str] = "task"
    declares: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def variants(self) -> list[str]:
        """Names of its episodes, such as the splits of a recording; results call them split."""

    @abstractmethod
    def episode(self, variant: str, seeds: Sequence[int]) -> Episode:
        """What models live through: one stream for all seeds, or one a seed in their order."""
