"""Forward and backward through one step of a network, and exact RTRL's P, for many models."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
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
# Maps a cotangent on the outputs to the cotangent on the state and the readout's gradient.
Pull = Callable[[Tensor], tuple[Tensor, Parameters]]
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
        if "keep" in tape:
            previous_cotangent = previous_cotangent * tape["keep"].reshape(
                -1, *[1] * (previous_cotangent.dim() - 1)
            )
        return previous_cotangent, local

    def push(self, params: Parameters, tape: Tape, prior: Tensor, tangent: Tensor) -> Tensor:
        """J times a tangent on the previous state `prior`, or rows of them, as in `pull`."""
        product = self.push_step(params, tape, prior, tangent)
        if "keep" in tape:
            product = product * tape["keep"].reshape(-1, *[1] * (product.dim() - 1))
        return product

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

    def gradient_square(self, tapes: Tape, locals_: Local) -> Tensor:
        """Sum of the squares of what `summed_gradient` answers for one step, (models,)."""
        gradient = self.summed_gradient(tapes, locals_).values()
        return sum((g * g).flatten(1).sum(1) for g in gradient)

    def params_for_pull(self) -> tuple[str, ...]:
        """Names of the parameters that `pull` reads; exact RTRL stores them at each step."""
        return self.recurrent_names()

    def recurrent_names(self) -> tuple[str, ...]:
        """Names of the parameters that the state depends on."""
        return tuple(self.architecture.recurrent_shapes())

    def readout_error(
        self, loss: Loss, params: Parameters, state: Tensor, step: StreamStep
    ) -> tuple[Tensor, Tensor, Pull]:
        """Error (models,), cotangent on the outputs (models, n_out), and what pulls that back.

        The first two are zero at a step that is not scored.
        """
        overrides = type(self.architecture).readout is not Architecture.readout
        outputs, pull = (self._automatic_readout if overrides else self._linear_readout)(
            params, state
        )
        error, outputs_cotangent = vmap(loss.with_cotangent, in_dims=(0, axis_of_models(step)))(
            outputs, step["y"]
        )
        if "scored" in step:
            weight = step["scored"].expand(len(error)).to(error.dtype)
            error, outputs_cotangent = error * weight, outputs_cotangent * weight[:, None]
        return error, outputs_cotangent, pull

    def _linear_readout(self, params: Parameters, state: Tensor) -> tuple[Tensor, Pull]:
        """Outputs of W_out h + b_out, and what pulls a cotangent on them back."""

        # By hand, because compiling automatic differentiation takes seconds.
        def pull(outputs_cotangent: Tensor) -> tuple[Tensor, Parameters]:
            h = state[:, : self.architecture.hidden]
            gradient = {
                "W_out": outputs_cotangent[:, :, None] * h[:, None],
                "b_out": outputs_cotangent,
            }
            h_cotangent = (params["W_out"] * outputs_cotangent[:, :, None]).sum(1)
            return self.pad_cotangent(h_cotangent), gradient

        return vmap(self.architecture.readout)(params, state), pull

    def _automatic_readout(self, params: Parameters, state: Tensor) -> tuple[Tensor, Pull]:
        """Outputs of an architecture's own readout, and what pulls a cotangent on them back."""
        recurrent = self.architecture.recurrent_params(params)
        readout = {name: p for name, p in params.items() if name not in recurrent}

        def outputs_of(readout: Parameters, state: Tensor) -> Tensor:
            return vmap(self.architecture.readout)(recurrent | readout, state)

        outputs, pull_back = vjp(outputs_of, readout, state)

        def pull(outputs_cotangent: Tensor) -> tuple[Tensor, Parameters]:
            gradient, state_cotangent = pull_back(outputs_cotangent)
            return state_cotangent, gradient

        return outputs, pull

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
        self, sensitivity: Parameters, rows: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        """Compute P at the end of a block from P at its start, in place.

        From `rows`, unit vectors pulled back to the start (models, state_size, state_size), and
        the steps' tapes and local terms of these.
        """
