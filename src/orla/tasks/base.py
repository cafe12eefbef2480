"""The base class of tasks: sources of episodes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from orla.catalogue import Part
from orla.errors import OrlaError
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

STATIONARY = "stationary"  # the split in which nothing changes: the control


class Task(Part, ABC):
    """Something to be learned online.

    Its class statement names its loss, squared_error unless it says otherwise.

    needs_files: Whether its episodes are made from files that workflow rules prepare. `episode`
        then raises, and `cut` makes them.
    """

    kind: ClassVar[str] = "task"
    declares: ClassVar[Mapping[str, Any]] = {"loss": "squared_error"}
    needs_files: ClassVar[bool] = False

    @abstractmethod
    def split_names(self) -> list[str]:
        """Names of its episodes, such as the splits of a recording; results call them split."""

    def episode(self, split: str, seeds: Sequence[int]) -> Episode:
        """The episode for these seeds: one stream for all, or one a seed in their order."""
        raise OrlaError(
            f"task {self.part.name}: the episode {split} is made from files that rules prepare; "
            "load them and call cut"
        )

    def make_episode(
        self, adapt_and_heldout: Stream, source: str, simulated: bool, **fields: Any
    ) -> Episode:
        """An episode of a stream of the task's `adapt` and `heldout` steps, described as `source`.

        The task has a `window` too; `fields` are the others of an `Episode`, whose loss is by
        default the task's.
        """
        label = self.part.label.format_map(vars(self))
        about = {"name": self.part.name, "source": source, "simulated": simulated, "label": label}
        return Episode(
            adapt=adapt_and_heldout.slice_steps(slice(None, self.adapt)),
            heldout=adapt_and_heldout.slice_steps(slice(self.adapt, None)),
            window=self.window,
            label=label,
            simulated=simulated,
            dataset=about,
            **{"loss": self.part.more["loss"]} | fields,
        )


def require_valid_episode(
    task: Task, split: str, seeds: Sequence[int], step_noun: str = "steps"
) -> None:
    """Refuse an unknown split, no seeds, and parts that are no whole number of windows."""
    name = task.part.name
    if split not in task.split_names():
        raise OrlaError(f"task {name}: {split!r} is no split; give {task.split_names()}")
    if len(seeds) == 0:
        raise OrlaError(f"task {name}: no seed is asked for; give at least one")
    for part in ("pretraining", "adapt", "heldout"):
        if (length := getattr(task, part)) % task.window:
            raise OrlaError(
                f'task {name}: "{part}" is {length} {step_noun}, no multiple of the window of '
                f"{task.window}; change one of them"
            )
