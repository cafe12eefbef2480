"""Immediate derivatives: the past is held fixed."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.derivatives.base import Local
from orla.learners.base import Carry, Step
from orla.learners.errors import OfErrors
from orla.programs.scan import scan


@dataclass(frozen=True)
class Immediate(
    OfErrors,
    name="immediate",
    label="immediate",
    order=10,
    mark=Mark("#0b2a5b", "o", "-"),
    short=("window",),
    stride="window",
    source="the paper's d=0",
    time="O(n^2)",
    memory="O(1); O(window n) where an update sums several steps",
):
    """Gradient (dL/dh_t) dh_t/dtheta with h_{t-1} held fixed (the paper's d=0).

    `window` of these gradients are summed for an update; 1 is an update at each step.
    """

    window: int = option(1, "Steps between two updates.", least=1)

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives = self.derivatives
        if self.window == 1:
            _, local = derivatives.pull(params, step["tape"], step["cotangent"])
            window = pytree.tree_map(lambda t: t[None], (step["tape"], local))
            return carry, derivatives.gather(*window)

        step = self.select_errors(step)

        def pull(last: Tensor, entry: tuple, params: Parameters) -> tuple[Tensor, Local]:
            # PyTorch 2.13 compiles no scan without a carry, and a wrong program for vmap here.
            return last, derivatives.pull(params, *entry)[1]

        entries = derivatives.tape_for_pull(step["tape"]), step["cotangent"]
        _, locals_ = scan(pull, step["cotangent"][0], entries, constants=(params,))
        return carry, derivatives.gather(step["tape"], locals_)
