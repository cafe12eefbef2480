"""Networks, streams and a way to see every gradient that the engine hands to its optimizer."""

from dataclasses import dataclass

import oracles
import torch

from orla.architectures import LSTM, RNN, Architecture
from orla.engine.loop import Adapter
from orla.optimizers import SGD
from orla.programs.scan import scan
from orla.study.batches import initial_parameters

HIDDEN, N_IN, N_OUT = 5, 3, 2


@dataclass(frozen=True)
class Adapting(Architecture):
    """Leaky units with a learned leak and a second, slow state that inhibits them.

    None of its recurrent parameters has a name or a place that the engine could know.
    """

    @property
    def state_size(self):
        return 2 * self.hidden

    def recurrent_shapes(self):
        n = self.hidden
        return {"W": (n, n), "U": (n, self.n_in), "leak": (n,), "inhibition": (n,)}

    def step(self, params, state, x):
        h, slow = state[: self.hidden], state[self.hidden :]
        share = torch.sigmoid(params["leak"])
        drive = params["W"] @ torch.tanh(h) + params["U"] @ x - params["inhibition"] * slow
        h = (1 - share) * h + share * torch.tanh(drive)
        return torch.cat([h, 0.8 * slow + 0.2 * h * h])


NETWORKS = {
    "rnn": (RNN(HIDDEN, N_IN, N_OUT), oracles.rnn_step),
    "lstm": (LSTM(HIDDEN, N_IN, N_OUT), oracles.lstm_step),
    "another": (Adapting(HIDDEN, N_IN, N_OUT), Adapting(HIDDEN, N_IN, N_OUT).step),
}


def stream(steps, seed=0, n_in=N_IN, n_out=N_OUT, dtype=torch.float64):
    """Inputs and targets of standard deviation 1."""
    generator = torch.Generator().manual_seed(1000 + seed)
    X = torch.randn(steps, n_in, generator=generator, dtype=torch.float64)
    return X.to(dtype), torch.randn(steps, n_out, generator=generator, dtype=torch.float64).to(
        dtype
    )


def networks(architecture, models=2, scale=1.5, dtype=torch.float64):
    """Networks lively enough that the past matters: initial weights times `scale`."""
    params = initial_parameters(architecture, range(models), dtype)
    return {name: scale * p for name, p in params.items()}


@dataclass
class Watched:
    """What the optimizer saw, a list over updates; models on the first axis."""

    gradients: list
    params: list
    adaptation: object

    def model(self, index):
        """Gradients and parameters of one model."""
        return (
            [{n: g[index] for n, g in gradient.items()} for gradient in self.gradients],
            [{n: p[index] for n, p in params.items()} for params in self.params],
        )


def watch(learner, params, X, Y, *, rate=0.0, optimizer=None, segment=None):
    """Go through the stream as the study does and keep each update's gradient and parameters.

    A rate of 0 freezes the weights; any other lets plain gradient descent move them.
    """
    gradients, seen = [], []

    def probe(params, gradient, updates):
        gradients.append({name: g.clone() for name, g in gradient.items()})
        seen.append({name: p.clone() for name, p in params.items()})
        return {}

    adapter = Adapter(
        learner, optimizer or SGD(), probes=[probe], segment=segment or learner.stride
    )
    rates = params["W_out"].new_full((len(params["W_out"]),), rate)
    return Watched(gradients, seen, adapter(params, rates, X, Y))


def distance(ours, theirs):
    """Largest difference over steps and parameters, relative to the parameter's largest gradient.

    Every parameter that either side has counts: one that is absent counts as zeros.
    """
    assert len(ours) == len(theirs) > 0
    worst = 0.0
    for name in set(ours[0]) | set(theirs[0]):
        zero = torch.zeros_like({**ours[0], **theirs[0]}[name])
        a = torch.stack([step.get(name, zero) for step in ours])
        b = torch.stack([step.get(name, zero) for step in theirs])
        assert torch.isfinite(a).all()
        worst = max(worst, float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)))
    return worst


def all_learn(gradients):
    """Whether every parameter has a gradient that is not vacuously zero."""
    return all(
        max(float(step[name].abs().max()) for step in gradients) > 1e-3 for name in gradients[0]
    )


def cumulative(factor):
    """A loop whose body closes over a number."""

    def body(carry, x):
        return factor * carry + x, carry

    return lambda start, xs: scan(body, start, xs)
