"""Vanilla recurrent network of which the singular values of the recurrent matrix are learned."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, Pattern, matvec
from orla.architectures.rnn import RNN
from orla.architectures.spectral_rnn import orthogonal, power_law
from orla.catalogue import option


@dataclass(frozen=True)
class SingularRNN(
    Architecture,
    name="singular_rnn",
    label="RNN, singular values learned, cond(W_hh) {condition:g}",
    order=11.5,
):
    """h_t = tanh(W_ih x_t + U diag(s) V^T h_{t-1} + b_h): s is learned, the bases U and V are not.

    The paper's "orthogonal-basis constraint" (appendix on isotropy as a training equilibrium). A
    seed begins with the W_hh = U diag(s) V^T that it has as a spectral RNN of the same `condition`
    and `largest`. A learned s_hh may change its sign.

    U_hh and V_hh (hidden, hidden) stand among the parameters, so that each network has its own and
    they are saved with it. `step` detaches them: their derivative is 0 in every learner, and the
    update that an optimizer makes of a gradient of 0 is 0, so they keep their bits. Exact RTRL
    carries their zeros along, three times the sensitivities of an RNN.
    """

    condition: float = option(50.0, "cond(W_hh) in the beginning.", least=1)
    largest: float = option(
        0.0,
        "s_1 in the beginning, the spectral norm of W_hh; 0: that with the Frobenius norm of rnn.",
        least=0,
    )

    @property
    def state_size(self) -> int:
        return self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n = self.hidden
        bases = {"U_hh": (n, n), "V_hh": (n, n)}
        return {"W_ih": (n, self.n_in), **bases, "s_hh": (n,), "b_h": (n,)}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As a spectral RNN of the same seed, whose W_hh is U diag(s) V^T."""
        params = RNN(self.hidden, self.n_in, self.n_out).init(generator, dtype)
        params["U_hh"], params["V_hh"] = (
            orthogonal(self.hidden, generator).to(dtype) for _ in range(2)
        )
        params["s_hh"] = power_law(self.hidden, self.condition, self.largest).to(dtype)
        return {name: params[name] for name in self.shapes()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        U, V = params["U_hh"].detach(), params["V_hh"].detach()
        recurrent = matvec(U, params["s_hh"] * matvec(V.T, state))
        return torch.tanh(matvec(params["W_ih"], x) + recurrent + params["b_h"])

    def pattern(self) -> Pattern:
        identity = torch.eye(self.hidden, dtype=torch.bool)
        every = torch.ones_like(identity)
        rows, none = identity[:, :, None], torch.zeros(1, 1, 1, dtype=torch.bool)
        bases = {"U_hh": none, "V_hh": none}
        return Pattern(every, {"W_ih": rows, **bases, "s_hh": every, "b_h": identity})
