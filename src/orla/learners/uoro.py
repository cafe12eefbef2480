"""Unbiased online recurrent optimization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.learners.balancing import norm, signs, times
from orla.learners.base import Carry, Learner, Step
from orla.programs.scan import materialize


@dataclass(frozen=True)
class UORO(
    Learner,
    name="uoro",
    label="UORO",
    order=46,
    mark=Mark("#4f7d1f", "X", (0, (2, 2))),
    exactness="unbiased",
    source="Tallec and Ollivier 2017, algorithm 1",
    time="O(n^2)",
    memory="O(n^2)",
):
    """UORO (Tallec and Ollivier 2017): dh/dtheta is the mean of a random product of two vectors.

    With a vector nu of random signs, independent at each step (algorithm 1 of the paper),

        s_t = rho0 J_t s_{t-1} + rho1 nu,
        theta_t = theta_{t-1} / rho0 + (nu D_t) / rho1,
        rho0 = sqrt(|theta_{t-1}| / (|J_t s_{t-1}| + eps)) + eps,
        rho1 = sqrt(|nu D_t| / (|nu| + eps)) + eps,

    s (state_size,) and theta as the recurrent parameters. The gradient is

        (dL/dh_t J_t s_{t-1}) theta_{t-1} + dL/dh_t D_t,

    the past by the two vectors and the step itself exactly, as in algorithm 1, whose loss depends
    on the state before the step and on the parameters. Its mean over the signs is the gradient of
    exact RTRL, given the weights of each step.

    J_t s is a tangent pushed forward, nu D_t and dL/dh_t D_t are cotangents pulled back; neither
    matrix is built.
    """

    eps: float = option(1e-7, "Keeps norms that are divided by away from zero.", above=0)

    @property
    def noise(self) -> int:
        return self.architecture.state_size

    def init(self, params: Parameters) -> Carry:
        theta = {name: torch.zeros_like(params[name]) for name in self.derivatives.recurrent()}
        return {
            "s": torch.zeros_like(vmap(self.architecture.initial_state)(params)),
            "theta": theta,
        }

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives, tape, theta = self.derivatives, step["tape"], carry["theta"]
        if "keep" in tape:  # nothing is carried over the start of a trial
            theta = {name: times(tape["keep"], p) for name, p in theta.items()}
        Js = materialize(derivatives.push(params, tape, step["before"], carry["s"]))
        along = (materialize(step["cotangent"]) * Js).sum(1)
        _, local = derivatives.pull(params, tape, step["cotangent"])
        present = derivatives.gather(*pytree.tree_map(lambda t: t[None], (tape, local)))
        gradient = {name: times(along, p) + present[name] for name, p in theta.items()}

        rho0 = materialize(torch.sqrt(norm(theta) / (norm(Js) + self.eps)) + self.eps)

        nu = signs(step["noise"])
        _, local = derivatives.pull(params, tape, nu)
        window = pytree.tree_map(lambda t: materialize(t)[None], (tape, local))
        direct = derivatives.gather(*window)  # nu D_t
        length = torch.sqrt(derivatives.gradient_square(*window))
        rho1 = materialize(torch.sqrt(length / (norm(nu) + self.eps)) + self.eps)

        s = materialize(times(rho0, Js) + times(rho1, nu))
        theta = {n: times(1 / rho0, p) + times(1 / rho1, direct[n]) for n, p in theta.items()}
        return {"s": s, "theta": theta}, gradient
