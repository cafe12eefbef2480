"""Truncated backpropagation through time."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures import Parameters
from orla.errors import OrlaError
from orla.learners.base import Carry, Learner
from orla.programs.scan import scan


@dataclass(frozen=True)
class TBPTT(Learner):
    """BPTT(h; h') of Williams and Peng (1990) with h = `window` and h' = `update_every`.

    Every `update_every` steps one gradient of the losses of those steps, each pulled back at most
    to `window` steps before the update. (200, 200) is the chunk, the paper's "full RTRL" on BCI;
    (1, 1) is Immediate. Where the window reaches back past an update, the states are those that
    were visited, and the derivatives are taken there with the present weights.
    """

    window: int = 200
    update_every: int = 200

    def __post_init__(self) -> None:
        if not 1 <= self.update_every <= self.window:
            raise OrlaError(
                f"tbptt-{self.window}-{self.update_every}: the window must be at least as long as"
                " the steps between updates; write tbptt-WINDOW-STRIDE with WINDOW >= STRIDE"
            )

    @property
    def stride(self) -> int:
        return self.update_every

    @property
    def loops(self) -> bool:
        return self.window > 1

    @property
    def _memory(self) -> int:
        return self.window - self.update_every

    def init(self, params: Parameters) -> Carry:
        carry = super().init(params)
        if self._memory:
            state = carry["state"]
            x = state.new_zeros(self.architecture.n_in)
            carry["past_states"] = state.expand(self._memory, *state.shape).clone()
            carry["past_inputs"] = x.expand(self._memory, -1).clone()
            carry["past_exists"] = state.new_zeros(self._memory)
        return carry

    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        derivatives = self.derivatives

        def forward(
            state: Tensor, xy: tuple[Tensor, Tensor], params: Parameters
        ) -> tuple[Tensor, tuple]:
            x, y = xy
            after, tape = derivatives.forward(params, state, x)
            return after, (state, tape, *derivatives.readout(params, after, y))

        start = carry["state"]
        state, (before, tapes, losses, cotangents, readout) = scan(
            forward, start, (X, Y), constants=(params,)
        )

        # Pulling back sums over a matrix's rows: the other layout of memory serves it better.
        weights = {name: params[name].contiguous() for name in derivatives.history()}

        def backward(
            on_state: Tensor, step: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, cotangent = step
            return derivatives.pull(weights, tape, on_state + cotangent)

        zero = torch.zeros_like(state)
        on_start, locals_ = scan(
            backward, zero, (tapes, cotangents), constants=(weights,), reverse=True
        )
        gradient = derivatives.gather(tapes, locals_)
        after: Carry = {"state": state}
        if self._memory:
            past = self._past_gradient(carry, params, weights, on_start)
            gradient = {name: g + past[name] for name, g in gradient.items()}
            after |= self._remember(carry, before, X)
        gradient |= {name: g.sum(0) for name, g in readout.items()}
        return after, gradient, losses

    def _past_gradient(
        self, carry: Carry, params: Parameters, weights: Parameters, on_start: Tensor
    ) -> Parameters:
        derivatives = self.derivatives

        def again(
            _: Tensor, step: tuple[Tensor, Tensor], params: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            return derivatives.forward(params, *step)

        past = (carry["past_states"], carry["past_inputs"])
        _, tapes = scan(again, on_start, past, constants=(params,))

        def backward(
            on_state: Tensor, step: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, exists = step
            on_before, local = derivatives.pull(weights, tape, on_state)
            return exists * on_before, pytree.tree_map(lambda x: exists * x, local)

        _, locals_ = scan(
            backward,
            on_start,
            (tapes, carry["past_exists"]),
            constants=(weights,),
            reverse=True,
        )
        return derivatives.gather(tapes, locals_)

    def _remember(self, carry: Carry, before: Tensor, X: Tensor) -> Carry:
        def latest(past: Tensor, new: Tensor) -> Tensor:
            return torch.cat([past, new])[-self._memory :].clone()

        return {
            "past_states": latest(carry["past_states"], before),
            "past_inputs": latest(carry["past_inputs"], X),
            "past_exists": latest(carry["past_exists"], before.new_ones(X.shape[0])),
        }
