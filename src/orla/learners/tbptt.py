"""Learners of a window's errors: truncated backpropagation, and immediate derivatives alone."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.derivatives.base import Local
from orla.errors import OrlaError
from orla.learners.base import Carry, Learner, Step
from orla.programs.scan import scan


@dataclass(frozen=True, kw_only=True)
class WindowLearner(Learner):
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
    def last_error_alone(self) -> bool:
        return self.errors == "last"

    @property
    def noise_size(self) -> int:
        return int(self.errors == "shuffled")

    def select_errors(self, step: Step) -> Step:
        """The window with the "cotangent" (steps, models, state_size) that `errors` asks for."""
        cotangent = step["cotangent"]
        if self.errors == "last":
            last = torch.arange(len(cotangent), device=cotangent.device) == len(cotangent) - 1
            cotangent = torch.where(last[:, None, None], cotangent, torch.zeros_like(cotangent))
        if self.errors == "shuffled":
            order = step["noise"].argsort(0).expand_as(cotangent)
            cotangent = cotangent.gather(0, order)
        return step | {"cotangent": cotangent}


@dataclass(frozen=True)
class Immediate(
    WindowLearner,
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
            return carry, derivatives.summed_gradient(*window)

        step = self.select_errors(step)

        def pull(last: Tensor, entry: tuple, params: Parameters) -> tuple[Tensor, Local]:
            # PyTorch 2.13 compiles no scan without a carry, and a wrong program for vmap here.
            return last, derivatives.pull(params, *entry)[1]

        entries = derivatives.tape_for_pull(step["tape"]), step["cotangent"]
        _, locals_ = scan(pull, step["cotangent"][0], entries, constants=(params,))
        return carry, derivatives.summed_gradient(step["tape"], locals_)


@dataclass(frozen=True)
class TBPTT(
    WindowLearner,
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
    def needs_previous_state(self) -> bool:
        return self._steps_before_update > 0

    @property
    def _steps_before_update(self) -> int:
        """Steps before those of an update that its gradient goes back to."""
        return self.window - self.update_every

    def init(self, params: Parameters) -> Carry:
        if not self._steps_before_update:
            return {}
        state = torch.func.vmap(self.architecture.initial_state)(params)
        ones = state.new_ones(len(state))
        past = {"before": state, "x": state.new_zeros(len(state), self.architecture.n_in)}
        past |= {"keep": ones, "exists": 0.0 * ones}
        return {
            name: p.expand(self._steps_before_update, *p.shape).clone() for name, p in past.items()
        }

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives = self.derivatives
        if self.update_every == 1:
            step = pytree.tree_map(lambda t: t[None], step)
        step = self.select_errors(step)

        # Pulling back sums over a matrix's rows, which is faster in this memory layout.
        weights = {name: params[name].contiguous() for name in derivatives.params_for_pull()}

        def backward(
            state_cotangent: Tensor, entry: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, cotangent = entry
            return derivatives.pull(weights, tape, state_cotangent + cotangent)

        zero, entries = torch.zeros_like(step["cotangent"][0]), (step["tape"], step["cotangent"])
        start_cotangent, locals_ = scan(backward, zero, entries, constants=(weights,), reverse=True)
        gradient = derivatives.summed_gradient(step["tape"], locals_)
        if not self._steps_before_update:
            return carry, gradient
        past = self._memory_gradient(carry, params, weights, start_cotangent)
        gradient = {name: g + past[name] for name, g in gradient.items()}
        return self._remember(carry, step), gradient

    def _memory_gradient(
        self, carry: Carry, params: Parameters, weights: Parameters, start_cotangent: Tensor
    ) -> Parameters:
        """The gradient by the remembered steps, from the cotangent before those of the update."""
        derivatives = self.derivatives

        def tape_of(past: Carry) -> dict[str, Tensor]:
            _, tape = derivatives.step(params, past["before"], {"x": past["x"]})
            return tape | {"keep": past["keep"]}

        tapes = torch.func.vmap(tape_of)(carry)

        def backward(
            state_cotangent: Tensor, entry: tuple, weights: Parameters
        ) -> tuple[Tensor, dict[str, Tensor]]:
            tape, exists = entry
            pulled = derivatives.pull(weights, tape, state_cotangent)
            valid = exists[0] > 0
            return pytree.tree_map(lambda t: torch.where(valid, t, torch.zeros_like(t)), pulled)

        _, locals_ = scan(
            backward, start_cotangent, (tapes, carry["exists"]), constants=(weights,), reverse=True
        )
        return derivatives.summed_gradient(tapes, locals_)

    def _remember(self, carry: Carry, step: Step) -> Carry:
        """The remembered steps, with those of this update in the place of the oldest."""
        states, x = step["before"], step["stream"]["x"]
        ones = states.new_ones(states.shape[:2])
        x = x if x.dim() == 3 else x[:, None].expand(-1, states.shape[1], -1)
        new = {"before": states, "x": x, "keep": step["tape"].get("keep", ones), "exists": ones}
        last = slice(-self._steps_before_update, None)
        return {name: torch.cat([carry[name], t])[last].clone() for name, t in new.items()}
