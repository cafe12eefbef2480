"""Truncated backpropagation through time."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.errors import OrlaError
from orla.learners.base import Carry, Step
from orla.learners.errors import OfErrors
from orla.programs.scan import scan


@dataclass(frozen=True)
class TBPTT(
    OfErrors,
    name="tbptt",
    label="TBPTT-{window}",
    order=40,
    mark=Mark("#f0ab3c", "D", (0, (4, 1.2))),
    short=("window", "update_every"),
    stride="update_every",
    source="Williams and Peng 1990",
    time="O(n^2 window / update_every)",
    memory="O(window n)",
):
    """BPTT(h; h') of Williams and Peng (1990) with h = `window` and h' = `update_every`.

    Every `update_every` steps, the gradient of the errors of those steps, each pulled back to at
    most `window` steps before the update. (200, 200) is the paper's "full RTRL" on BCI, (4, 1) its
    k = 4; (1, 1) is Immediate. Where the window reaches back past an update, derivatives are taken
    at the states that were visited, with the present weights.
    """

    window: int = option(200, "Steps before an update that errors are pulled back to.", least=1)
    update_every: int = option(200, "Steps between two updates.", least=1)

    def __post_init__(self) -> None:
        if not 1 <= self.update_every <= self.window:
            raise OrlaError(
                f"tbptt-{self.window}-{self.update_every}: the window must be at least as long as"
                " the steps between updates; write tbptt-WINDOW-UPDATE_EVERY with"
                " WINDOW >= UPDATE_EVERY"
            )
        super().__post_init__()

    @property
    def reach(self) -> int:
        return self.window

    @property
    def loops(self) -> bool:
        return self.window > 1

    @property
    def reads_before(self) -> bool:
        return self._memory > 0

    @property
    def _memory(self) -> int:
        return self.window - self.update_every

    def init(self, params: Parameters) -> Carry:
        if not self._memory:
            return {}
        state = torch.func.vmap(self.architecture.initial_state)(params)
        ones = state.new_ones(len(state))
        past = {"before": state, "x": state.new_zeros(len(state), self.architecture.n_in)}
        past |= {"keep": ones, "exists": 0.0 * ones}
        return {name: p.expand(self._memory, *p.shape).clone() for name, p in past.items()}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives = self.derivatives
        if self.update_every == 1:
            step = pytree.tree_map(lambda t: t[None], step)
        step = self.select_errors(step)

        # Pulling back sums over a matrix's rows, which is faster in this memory layout.
        weights = {name: params[name].contiguous() for name in derivatives.history()}

        def backward(
            on_state: Tensor, entry: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, cotangent = entry
            return derivatives.pull(weights, tape, on_state + cotangent)

        zero = torch.zeros_like(step["cotangent"][0])
        on_start, locals_ = scan(
            backward,
            zero,
            (step["tape"], step["cotangent"]),
            constants=(weights,),
            reverse=True,
        )
        gradient = derivatives.gather(step["tape"], locals_)
        if not self._memory:
            return carry, gradient
        past = self._past_gradient(carry, params, weights, on_start)
        gradient = {name: g + past[name] for name, g in gradient.items()}
        return self._remember(carry, step), gradient

    def _past_gradient(
        self, carry: Carry, params: Parameters, weights: Parameters, on_start: Tensor
    ) -> Parameters:
        derivatives = self.derivatives

        def tape_of(past: Carry) -> dict[str, Tensor]:
            _, tape = derivatives.step(params, past["before"], {"x": past["x"]})
            return tape | {"keep": past["keep"]}

        tapes = torch.func.vmap(tape_of)(carry)

        def backward(
            on_state: Tensor, entry: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, exists = entry
            on_before, local = derivatives.pull(weights, tape, on_state)
            none = {name: torch.zeros_like(x) for name, x in local.items()}
            valid = exists[0] > 0
            local = {name: torch.where(valid, x, none[name]) for name, x in local.items()}
            return torch.where(valid, on_before, torch.zeros_like(on_before)), local

        _, locals_ = scan(
            backward, on_start, (tapes, carry["exists"]), constants=(weights,), reverse=True
        )
        return derivatives.gather(tapes, locals_)

    def _remember(self, carry: Carry, step: Step) -> Carry:
        before = step["before"]
        steps, models = before.shape[:2]
        x = step["moment"]["x"]
        ones = before.new_ones(steps, models)
        new = {
            "before": before,
            "x": x if x.dim() == 3 else x[:, None].expand(-1, models, -1),
            "keep": step["tape"].get("keep", ones),
            "exists": ones,
        }
        return {
            name: torch.cat([carry[name], value])[-self._memory :].clone()
            for name, value in new.items()
        }
