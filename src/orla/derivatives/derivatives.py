"""The derivatives that learners are made of: forward with a tape, and the pull back through it.

A tape is what one step leaves behind for its derivatives. Pulling a cotangent on the new state
back through the step gives a cotangent on the state before, and a local term from which the
parameters' gradient is gathered. Everything here is for a batch of models (first axis).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vjp, vmap

from orla.architectures import Architecture, LinearGates, Parameters
from orla.programs.scan import readable

# Bytes of P that are rebuilt at a time: what a core's own cache holds; what keeps a device busy.
_PANEL = 1_000_000
_PANEL_ELSEWHERE = 256_000_000

Tape = dict[str, Tensor]
Local = dict[str, Tensor]


@dataclass(frozen=True)
class Derivatives(ABC):
    """Forward and backward through one step of `architecture`, over a batch of models."""

    architecture: Architecture

    @abstractmethod
    def forward(self, params: Parameters, state: Tensor, x: Tensor) -> tuple[Tensor, Tape]:
        """New state (models, state_size) and tape, from one input x (n_in,) for all models."""

    @abstractmethod
    def pull(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        """Cotangent on the state before (models, state_size) and local term of this step."""

    def pulled(self, tape: Tape) -> Tape:
        """The part of a tape that `pull` reads."""
        return tape

    @abstractmethod
    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        """Gradient of the recurrent parameters summed over the first axis (steps) of both."""

    @abstractmethod
    def history(self) -> tuple[str, ...]:
        """The parameters that `pull` reads: exact RTRL keeps those of each step."""

    @abstractmethod
    def no_sensitivity(self, params: Parameters) -> Parameters:
        """Sensitivities dstate/dtheta before the first step: zeros, with the state's axis last."""

    @abstractmethod
    def no_terms(self, params: Parameters) -> Parameters:
        """The terms of no step: zeros, laid out as a sensitivity without the state's axis."""

    @abstractmethod
    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        """`terms` and those of more steps, which are on the first axis of tapes and locals."""

    @abstractmethod
    def sensitivity_gradient(
        self, sensitivity: Parameters, on_start: Tensor, terms: Parameters
    ) -> Parameters:
        """Gradient of the recurrent parameters at a step within a block.

        Args:
            sensitivity: P at the block's start.
            on_start: Cotangent (models, state_size) pulled back to the block's start.
            terms: Those of the block's own steps, from `with_terms`.
        """

    @abstractmethod
    def rebuild_sensitivity(
        self, sensitivity: Parameters, rows: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        """Turn P at the start of a block into P at its end, in place.

        Args:
            sensitivity: P at the block's start.
            rows: Unit vectors pulled back to the block's start (models, state_size, state_size).
            tapes: The block's tapes, steps on the first axis.
            locals_: The unit vectors' local terms, steps on the first axis.
        """

    def readout(
        self, params: Parameters, state: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor, Parameters]:
        """Loss (models,), cotangent on the state and gradient of the readout's parameters.

        Loss: mean over the outputs of the squared error. Source: docs/protocol.md, Data.
        """

        if type(self.architecture).readout is not Architecture.readout:
            return self._readout_of_its_own(params, state, y)
        # By hand, since going through automatic differentiation takes a compiler seconds.
        outputs = vmap(self.architecture.readout)(params, state)
        error = outputs - y
        on_outputs = (2.0 / y.shape[0]) * error
        h = state[:, : self.architecture.hidden]
        gradient = {"W_out": on_outputs[:, :, None] * h[:, None], "b_out": on_outputs}
        on_h = (params["W_out"] * on_outputs[:, :, None]).sum(1)
        return (error * error).mean(1), self._on_state(on_h), gradient

    def _on_state(self, on_h: Tensor) -> Tensor:
        """A cotangent on the first `hidden` numbers of the state as one on all of it."""
        missing = self.architecture.state_size - self.architecture.hidden
        return torch.nn.functional.pad(on_h, (0, missing)) if missing else on_h

    def _readout_of_its_own(
        self, params: Parameters, state: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor, Parameters]:
        def loss_of(params: Parameters, state: Tensor) -> Tensor:
            error = self.architecture.readout(params, state) - y
            return (error * error).mean()

        readout = {name: params[name] for name in params if name not in self.recurrent()}

        def one(readout: Parameters, rest: Parameters, state: Tensor) -> tuple[Tensor, ...]:
            loss, pull = vjp(lambda r, s: loss_of({**rest, **r}, s), readout, state)
            return loss, *pull(torch.ones_like(loss))

        rest = {name: params[name] for name in self.recurrent()}
        loss, gradient, cotangent = vmap(one)(readout, rest, state)
        return loss, cotangent, gradient

    def recurrent(self) -> tuple[str, ...]:
        """Names of the parameters that the state depends on."""
        return tuple(self.architecture.recurrent_shapes())


@dataclass(frozen=True)
class StructuredDerivatives(Derivatives):
    """Derivatives of an architecture whose parameters enter through linear pre-activations."""

    architecture: LinearGates

    def forward(self, params: Parameters, state: Tensor, x: Tensor) -> tuple[Tensor, Tape]:
        after, cache = vmap(self.architecture.step_with_cache, in_dims=(0, 0, None))(
            params, state, x
        )
        h = state[:, : self.architecture.hidden]
        # x is one for all models; it stands in the tape once a model so that all of it is batched.
        return after, {"cache": cache, "h": h, "x": x.expand(h.shape[0], -1)}

    def pull(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        on_gates, around = vmap(self.architecture.pull)(tape["cache"], cotangent)
        on_state = self._through_recurrence(params["W_hh"], on_gates)
        return on_state + around, {"gates": on_gates}

    def pulled(self, tape: Tape) -> Tape:
        return {"cache": tape["cache"]}

    def _through_recurrence(self, W_hh: Tensor, on_gates: Tensor) -> Tensor:
        """W_hh^T on_gates for on_gates (models, gates) or rows of them (models, rows, gates)."""
        if on_gates.dim() == 2:
            on_h = (W_hh * on_gates[:, :, None]).sum(1)
        else:
            on_h = torch.bmm(on_gates, W_hh)
        return self._on_state(on_h)

    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        on_gates = locals_["gates"]
        if on_gates.shape[0] == 1:
            delta = on_gates[0][:, :, None]
            return {
                "W_ih": delta * tapes["x"][0][:, None, :],
                "W_hh": delta * tapes["h"][0][:, None, :],
                "b_h": on_gates[0],
            }
        delta = on_gates.permute(1, 2, 0)
        return {
            "W_ih": torch.bmm(delta, tapes["x"].transpose(0, 1)),
            "W_hh": torch.bmm(delta, tapes["h"].transpose(0, 1)),
            "b_h": on_gates.sum(0),
        }

    def history(self) -> tuple[str, ...]:
        return ("W_hh",)

    def no_sensitivity(self, params: Parameters) -> Parameters:
        # (models, state, gates, [x, h, 1]): each product with P or D below is one matrix product.
        a, models = self.architecture, params["W_hh"].shape[0]
        return {"P": params["W_hh"].new_zeros(models, a.state_size, a.gates, a.n_in + a.hidden + 1)}

    def joined(self, tape: Tape) -> Tensor:
        """[x, h, 1] of a step (models, n_in + hidden + 1), or of steps on one axis more."""
        ones = tape["x"].new_ones(*tape["x"].shape[:-1], 1)
        return torch.cat([tape["x"], tape["h"], ones], -1)

    def parted(self, gradient: Tensor) -> Parameters:
        """By parameter what (models, gates, n_in + hidden + 1) holds in the order of `joined`."""
        n_in = self.architecture.n_in
        return {
            "W_ih": gradient[:, :, :n_in],
            "W_hh": gradient[:, :, n_in:-1],
            "b_h": gradient[:, :, -1],
        }

    def no_terms(self, params: Parameters) -> Parameters:
        a, W_hh = self.architecture, params["W_hh"]
        return {"P": W_hh.new_zeros(W_hh.shape[0], a.gates, a.n_in + a.hidden + 1)}

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        delta = locals_["gates"].permute(1, 2, 0)
        return {"P": torch.baddbmm(terms["P"], delta, self.joined(tapes).transpose(0, 1))}

    def sensitivity_gradient(
        self, sensitivity: Parameters, on_start: Tensor, terms: Parameters
    ) -> Parameters:
        P, rows = sensitivity["P"].flatten(2), terms["P"].flatten(1)[:, None]
        gradient = torch.baddbmm(rows, on_start[:, None], P)
        return self.parted(gradient.view(terms["P"].shape))

    def rebuild_sensitivity(
        self, sensitivity: Parameters, rows: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        joined = self.joined(tapes).transpose(0, 1)
        # On a CPU a panel meets both products while it is in cache; elsewhere few launches count.
        together, panel = (1, _PANEL) if readable(rows) else (len(rows), _PANEL_ELSEWHERE)
        for model in range(0, len(rows), together):
            some = slice(model, model + together)
            P = sensitivity["P"][some]
            _, state, gates, length = P.shape
            width = max(1, panel // (together * state * length * P.element_size()))
            for first in range(0, gates, width):
                at = slice(first, first + width)
                delta = locals_["gates"][:, some, :, at].permute(1, 2, 3, 0).flatten(1, 2)
                after = torch.bmm(rows[some], P[:, :, at].flatten(2)).view(together, -1, length)
                P[:, :, at] = after.baddbmm_(delta, joined[some]).view(together, state, -1, length)


@dataclass(frozen=True)
class AutomaticDerivatives(Derivatives):
    """Derivatives of any architecture, by automatic differentiation of its `step`."""

    def forward(self, params: Parameters, state: Tensor, x: Tensor) -> tuple[Tensor, Tape]:
        after = vmap(self.architecture.step, in_dims=(0, 0, None))(params, state, x)
        return after, {"state": state, "x": x.expand(state.shape[0], -1)}

    def pull(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        recurrent = {name: params[name] for name in self.recurrent()}
        one = self._pull_one if cotangent.dim() == 2 else self._pull_rows
        gradient, on_state = vmap(one)(recurrent, tape["state"], tape["x"], cotangent)
        return on_state, gradient

    def _pull_one(
        self, recurrent: Parameters, state: Tensor, x: Tensor, cotangent: Tensor
    ) -> tuple[Parameters, Tensor]:
        _, pull = vjp(lambda p, s: self.architecture.step(p, s, x), recurrent, state)
        return pull(cotangent)

    def _pull_rows(
        self, recurrent: Parameters, state: Tensor, x: Tensor, rows: Tensor
    ) -> tuple[Parameters, Tensor]:
        _, pull = vjp(lambda p, s: self.architecture.step(p, s, x), recurrent, state)
        return vmap(pull)(rows)

    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        return {name: gradient.sum(0) for name, gradient in locals_.items()}

    def history(self) -> tuple[str, ...]:
        return self.recurrent()

    def no_sensitivity(self, params: Parameters) -> Parameters:
        size = self.architecture.state_size
        return {
            name: params[name].new_zeros(*params[name].shape, size) for name in self.recurrent()
        }

    def no_terms(self, params: Parameters) -> Parameters:
        return {name: params[name].new_zeros(params[name].shape) for name in self.recurrent()}

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        return {name: g + terms[name] for name, g in self.gather(tapes, locals_).items()}

    def sensitivity_gradient(
        self, sensitivity: Parameters, on_start: Tensor, terms: Parameters
    ) -> Parameters:
        return {
            name: terms[name] + vmap(torch.matmul)(P, on_start) for name, P in sensitivity.items()
        }

    def rebuild_sensitivity(
        self, sensitivity: Parameters, rows: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        for name, P in sensitivity.items():
            carried = vmap(torch.matmul)(P, rows.transpose(1, 2))
            torch.add(carried, locals_[name].sum(0).movedim(1, -1), out=P)


def derivatives(architecture: Architecture) -> Derivatives:
    """The best derivatives that `architecture` has."""
    if isinstance(architecture, LinearGates):
        return StructuredDerivatives(architecture)
    return AutomaticDerivatives(architecture)
