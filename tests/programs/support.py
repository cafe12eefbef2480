"""Small networks, a stream and one run of the loop, for the tests of compiled programs."""

from dataclasses import dataclass

import torch
from harness import specified

from orla import catalogue
from orla.architectures.base import Architecture, matvec
from orla.engine.loop import Loop
from orla.programs.scan import scan
from orla.study.batches import initial_parameters

N_IN, N_OUT, STEPS, SEGMENT = 3, 2, 48, 24
RATES = torch.tensor([0.003, 0.01, 0.02], dtype=torch.float64)


@dataclass(frozen=True)
class Leaky(Architecture):
    """A network of no structure that the engine knows: leaky units with a learned leak."""

    @property
    def state_size(self):
        return self.hidden

    def recurrent_shapes(self):
        n = self.hidden
        return {"W": (n, n), "U": (n, self.n_in), "leak": (n,)}

    def step(self, params, state, x):
        share = torch.sigmoid(params["leak"])
        drive = matvec(params["W"], torch.tanh(state)) + matvec(params["U"], x)
        return (1 - share) * state + share * torch.tanh(drive)


def network(kind, hidden=5):
    if kind == "leaky":
        return Leaky(hidden, N_IN, N_OUT)
    return catalogue.make("architecture", specified(kind, hidden), n_in=N_IN, n_out=N_OUT)


def learner(spec, kind="rnn", hidden=5):
    return catalogue.make("learner", spec, architecture=network(kind, hidden))


def parameters(architecture, models=3):
    params = initial_parameters(architecture, range(models), torch.float64)
    return {name: 1.5 * p for name, p in params.items()}


def stream(steps=STEPS, seed=0):
    generator = torch.Generator().manual_seed(1000 + seed)
    x, y = (torch.randn(steps, n, generator=generator, dtype=torch.float64) for n in (N_IN, N_OUT))
    return {"x": x, "y": y}


def loop(driver, optimizer="adam", probes=("update_ratio",), segment=SEGMENT, **parts):
    """A loop that is used often enough for its updates to be compiled."""
    return Loop(
        driver,
        catalogue.make("optimizer", optimizer),
        catalogue.make("loss", "squared_error"),
        probes=[catalogue.make("probe", spec) for spec in probes],
        segment=segment,
        passes=200,
        **parts,
    )


def run(made, params=None, rates=RATES, moments=None):
    """One run from fresh networks."""
    state = made.start(parameters(made.learner.architecture) if params is None else params)
    return made.run(state, rates, stream() if moments is None else moments)


def cumulative(factor):
    """A loop whose body closes over a number."""

    def body(carry, x):
        return factor * carry + x, carry

    return lambda start, xs: scan(body, start, xs)
