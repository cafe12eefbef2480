"""The base class of the synthetic tasks: a stream that changes once, when pretraining ends."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.tasks.base import STATIONARY, Task, require_valid_episode
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

CHANGES = "shift"


@dataclass(frozen=True)
class Shift(Task):
    """A task with two splits: `shift`, and `stationary`, where nothing changes: the control.

    The reference is the unchanged stream, scored at the steps of the held-out part. Each seed has
    its own stream, which does not depend on the other seeds asked for.
    """

    simulated: ClassVar[bool] = True

    pretraining: int = option(4000, "Steps of the part that networks are pretrained on.", least=1)
    adapt: int = option(2000, "Steps of the part that they adapt to.", least=2)
    heldout: int = option(1000, "Steps of the part that follows, scored frozen.", least=1)
    window: int = option(200, "Steps of a window; every part is a multiple of it.", least=1)

    @abstractmethod
    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        """The unchanged stream and the changed one, with a first axis of one seed a generator.

        The unchanged one has `pretraining` + `after` steps. The changed one has `after` steps: it
        branches off the unchanged one where pretraining ends.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """`source` (text) for the record, and fields of `Episode`, as `n_out` of categories."""

    @property
    def after(self) -> int:
        """Steps after pretraining."""
        return self.adapt + self.heldout

    def split_names(self) -> list[str]:
        return [CHANGES, STATIONARY]

    def episode(self, split: str, seeds: Sequence[int]) -> Episode:
        """The episode for these seeds, one stream a seed in their order."""
        require_valid_episode(self, split, seeds)
        if self.adapt < 2 * self.window:
            raise OrlaError(
                f'task {self.part.name}: "adapt" is one window of {self.window} steps; give two at '
                "least, to learn on and to select the learning rate on"
            )
        stationary, shift = self.streams([self._random_generator(seed) for seed in seeds])
        reference = stationary.slice_steps(slice(self.pretraining, None))
        stream = shift if split == CHANGES else reference
        return self.make_episode(
            stream,
            simulated=self.simulated,
            pretraining=stationary.slice_steps(slice(None, self.pretraining)),
            reference=reference,
            reference_from=self.adapt,
            # 80 % of the part, in whole windows. Source: docs/protocol.md, Parts of a session.
            selection_cut=max(4 * self.adapt // 5 // self.window, 1) * self.window,
            **{"n_out": stationary.Y.shape[-1]} | self.describe(),
        )

    def _random_generator(self, seed: int) -> np.random.Generator:
        """The generator of one seed's random numbers, which differ between tasks."""
        key = int.from_bytes(self.part.name.encode())
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def shift_targets(branches: Iterable[np.ndarray], lag: int) -> tuple[Stream, ...]:
    """Streams of values (seeds, steps, inputs): targets are inputs `lag` steps later or before."""
    ahead, behind = slice(abs(lag), None), slice(None, -abs(lag))
    inputs, targets = (behind, ahead) if lag > 0 else (ahead, behind)
    return tuple(Stream(values[:, inputs], values[:, targets]) for values in branches)
