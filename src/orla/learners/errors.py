"""Choice of the errors of a window whose gradient is computed."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.catalogue import option
from orla.errors import OrlaError
from orla.learners.base import Learner, Step


@dataclass(frozen=True, kw_only=True)
class OfErrors(Learner):
    """A learner of windows whose gradient may be of other errors than all of the window's.

    last: the last step's alone, and so the readout's gradient. shuffled: dL/dh_t of all steps, in a
    random order that each model's seed and the window draw, the same for every such learner; the
    readout's gradient stays that of all errors.
    """

    errors: str = option(
        "all", "Errors of an update's steps that count.", choices=("all", "last", "shuffled")
    )

    def __post_init__(self) -> None:
        if self.errors != "all" and self.stride == 1:
            raise OrlaError(
                f'{self.part.name}: "errors" is {self.errors} and an update has one step; give it '
                "several, or leave errors at all"
            )

    @property
    def last_alone(self) -> bool:
        return self.errors == "last"

    @property
    def noise(self) -> int:
        return int(self.errors == "shuffled")

    def select_errors(self, step: Step) -> Step:
        """The window of steps with the "cotangent" (steps, models, state_size) that counts."""
        cotangent = step["cotangent"]
        if self.errors == "last":
            last = torch.arange(len(cotangent), device=cotangent.device) == len(cotangent) - 1
            cotangent = torch.where(last[:, None, None], cotangent, torch.zeros_like(cotangent))
        if self.errors == "shuffled":
            order = step["noise"].argsort(0).expand_as(cotangent)
            cotangent = cotangent.gather(0, order)
        return step | {"cotangent": cotangent}
