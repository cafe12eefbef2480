"""Forward and backward through one step of a network, and exact RTRL's P, for many models."""

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import jvp, vjp, vmap

from orla.architectures.base import Architecture, Parameters
from orla.losses.base import Loss

# One step of a stream: "x" (n_in,) and "y" (n_out,) or (), shared by all models or (models, ...);
# and where the stream has them "scored" and "starts", bool () or (models,).
StreamStep = dict[str, Tensor]
# What the derivatives of one step need.
Tape = dict[str, Tensor]
# One step's term of the parameters' gradient, before `summed_gradient` sums the terms.
Local = dict[str, Tensor]


def axis_of_models(step: StreamStep) -> int | None:
    """0 where each model has a stream of its own, None where they share one."""
    return 0 if step["x"].dim() == 2 else None


@dataclass(frozen=True)
class Derivatives(ABC):
    """Forward and backward through one step of `architecture`."""

    architecture: Architecture

    # Whether `summed_gradient` answers one step's gradient as outer products, written as such.
    outer_products: ClassVar[bool] = False

    def forward(self, params: Parameters, state: Tensor, step: StreamStep) -> tuple[Tensor, Tape]:
        """The next state (models, state_size), and the tape; "keep" is 0 where trials start."""
        next_state, tape = self.step(params, self.state_before(params, state, step), step)
        if "starts" in step:
            tape = tape | {"keep": (~step["starts"].expand(len(state))).to(state.dtype)}
        return next_state, tape

    def state_before(self, params: Parameters, state: Tensor, step: StreamStep) -> Tensor:
        """The state that a step starts from: the initial one where a trial starts."""
        if "starts" not in step:
            return state
        starts = step["starts"].expand(len(state))
        initial = vmap(self.architecture.initial_state)(params)
        return torch.where(starts[:, None], initial, state)

    def pull(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        """A cotangent, or rows of them, on the new state, pulled back through the step.

        (models, state_size) or (models, rows, state_size). Answers the cotangent on the previous
        state, and the local term. Of `params` only those of `params_for_pull` are read.
        """
        previous_cotangent, local = self.pull_step(params, tape, cotangent)
        return _cut_at_starts(tape, previous_cotangent), local

    def push(self, params: Parameters, tape: Tape, prior: Tensor, tangent: Tensor) -> Tensor:
        """J times a tangent on the previous state `prior`, or rows of them, as in `pull`."""
        return _cut_at_starts(tape, self.push_step(params, tape, prior, tangent))

    @abstractmethod
    def step(self, params: Parameters, state: Tensor, step: StreamStep) -> tuple[Tensor, Tape]:
        """`forward` without regard to trials."""

    @abstractmethod
    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        """`pull` without regard to trials."""

    def local_template(self, params: Parameters, tape: Tape, cotangent: Tensor) -> Local:
        """Tensors of the shapes of the local term that `pull_step` answers with."""
        return self.pull_step(params, tape, cotangent)[1]

    def push_step(self, params: Parameters, tape: Tape, prior: Tensor, tangent: Tensor) -> Tensor:
        """`push` without regard to trials."""

        def push_one(params: Parameters, state: Tensor, x: Tensor, tangent: Tensor) -> Tensor:
            def push(tangent: Tensor) -> Tensor:
                step = functools.partial(self.architecture.step, params, x=x)
                return jvp(step, (state,), (tangent,))[1]

            return push(tangent) if tangent.dim() == 1 else vmap(push)(tangent)

        return vmap(push_one)(params, prior, tape["x"], tangent)

    def tape_for_pull(self, tape: Tape) -> Tape:
        """The entries of a tape that `pull` reads."""
        return tape

    @abstractmethod
    def summed_gradient(self, tapes: Tape, locals_: Local) -> Parameters:
        """Gradient of the recurrent parameters, summed over the first axis (steps) of both."""

    def one_step_gradient_square(self, tapes: Tape, locals_: Local) -> Tensor:
        """Sum of the squares of what `summed_gradient` answers for one step, (models,)."""
        gradient = self.summed_gradient(tapes, locals_).values()
        return sum((g * g).flatten(1).sum(1) for g in gradient)

    def params_for_pull(self) -> tuple[str, ...]:
        """Names of the parameters that `pull` reads; exact RTRL stores them at each step."""
        return tuple(self.architecture.recurrent_shapes())

    def readout_cotangents(
        self, loss: Loss, params: Parameters, state: Tensor, step: StreamStep
    ) -> tuple[Tensor, Tensor, Tensor, Parameters]:
        """Error (models,), and its derivatives, by outputs, state and the readout's parameters.

        All are zero at a step that is not scored.
        """
        a, pull = self.architecture, None
        if type(a).readout is Architecture.readout:
            outputs = vmap(a.readout)(params, state)
        else:
            recurrent = a.recurrent_params(params)
            readout = {name: p for name, p in params.items() if name not in recurrent}
            outputs, pull = vjp(lambda p, s: vmap(a.readout)(recurrent | p, s), readout, state)
        in_dims = 0, axis_of_models(step)
        error, cotangent = vmap(loss.with_cotangent, in_dims=in_dims)(outputs, step["y"])
        if "scored" in step:
            weight = step["scored"].expand(len(error)).to(error.dtype)
            error, cotangent = error * weight, cotangent * weight[:, None]
        if pull:
            gradient, state_cotangent = pull(cotangent)
            return error, cotangent, state_cotangent, gradient
        # By hand, because compiling automatic differentiation takes seconds.
        h = state[:, : a.hidden]
        gradient = {"W_out": cotangent[:, :, None] * h[:, None], "b_out": cotangent}
        h_cotangent = (params["W_out"] * cotangent[:, :, None]).sum(1)
        return error, cotangent, self.pad_cotangent(h_cotangent), gradient

    def pad_cotangent(self, h_cotangent: Tensor) -> Tensor:
        """A cotangent on the first `hidden` numbers of the state, padded to the whole state."""
        padding = self.architecture.state_size - self.architecture.hidden
        return torch.nn.functional.pad(h_cotangent, (0, padding)) if padding else h_cotangent

    @abstractmethod
    def zero_sensitivity(self, params: Parameters) -> Parameters:
        """Exact RTRL's P = dstate/dtheta before the first step, in a layout of its own."""

    @abstractmethod
    def zero_gradient_terms(self, params: Parameters) -> Parameters:
        """Terms lambda_k D_k of no step: zeros, of the shape of P without the state's axis."""

    @abstractmethod
    def accumulate_gradient_terms(
        self, terms: Parameters, tapes: Tape, locals_: Local
    ) -> Parameters:
        """`terms` plus those of further steps (first axis of `tapes` and `locals_`)."""

    @abstractmethod
    def gradient_within_block(
        self, sensitivity: Parameters, start_cotangent: Tensor, terms: Parameters
    ) -> Parameters:
        """Gradient of the recurrent parameters at a step within a block."""

    @abstractmethod
    def advance_sensitivity_over_block(
        self, sensitivity: Parameters, block_jacobian: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        """Compute P at the end of a block from P at its start, in place.

        From `block_jacobian`, unit vectors pulled back to the start (models, state_size,
        state_size), and the steps' tapes and local terms of these.
        """


def _cut_at_starts(tape: Tape, rows: Tensor) -> Tensor:
    """`rows` (models, ...), which are 0 where a trial starts with the step."""
    return rows * tape["keep"].reshape(-1, *[1] * (rows.dim() - 1)) if "keep" in tape else rows
