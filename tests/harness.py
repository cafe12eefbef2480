"""Networks, streams and a way to see every gradient that the engine hands to its optimizer."""

import functools
from collections import Counter
from dataclasses import dataclass

import oracles
import pytest
import torch
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.architectures.base import Architecture, Pattern, matvec
from orla.architectures.elementwise import ElementWise
from orla.architectures.rnn import RNN
from orla.catalogue.options import options_of
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.structured import StructuredDerivatives
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.interventions.base import Intervention
from orla.learners.base import Learner
from orla.optimizers.adam import Adam
from orla.probes.base import Probe
from orla.programs.scan import scan, stack_trees
from orla.study.batches import initial_parameters

HIDDEN, N_IN, N_OUT = 5, 3, 2

# Options of architectures that need some, or whose own are too large for a test, or with which
# the past hardly matters in a short stream or descent at the tests' rates is chaotic.
OPTIONS = {
    "s4": {"modes": 2, "dt_min": 0.3, "dt_max": 1.0},
    "lru": {"r_min": 0.2, "r_max": 0.6, "max_phase": 1.0},
    "stack": {"layers": [{"kind": "lstm", "hidden": 2}, "rnn"]},
    "block_gru": {"blocks": HIDDEN, "units": 3, "mlp": 1},
    "low_rank_rnn": {"rank": 2},
    "retnet": {"keys": 3},
    "transformer": {"context": 2, "heads": 1, "layers": 1, "feedforward": 1},
}


def specified(kind, hidden=HIDDEN):
    """The architecture called so, of this size, as a config gives it."""
    return {"kind": kind, "hidden": hidden, **OPTIONS.get(kind, {})}


def make_network(kind, hidden=HIDDEN, n_in=N_IN, n_out=N_OUT):
    """The architecture called so, of this size."""
    return catalogue.make("architecture", specified(kind, hidden), n_in=n_in, n_out=n_out)


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

    def pattern(self):
        own, every = torch.eye(self.hidden) > 0, torch.ones(self.hidden, self.hidden) > 0
        # The slow state reads the new h, so all that moves a unit moves its slow state at once.
        by_state = torch.cat([torch.cat([every, own], 1)] * 2)
        moves = torch.cat([own, own])
        rows = {"W": moves[:, :, None], "U": moves[:, :, None]}
        return Pattern(by_state, rows | {"leak": moves, "inhibition": moves})


@dataclass(frozen=True)
class Turning(ElementWise):
    """Units that each turn and fade in the complex plane, and see nothing of one another.

    Its readout is the linear one of most networks, of the real parts.
    """

    readout, readout_shapes = Architecture.readout, Architecture.readout_shapes

    @property
    def feedthrough_size(self):
        return self.hidden

    def recurrent_shapes(self):
        into = self.hidden, self.n_in
        return {"fade": (self.hidden,), "angle": (self.hidden,), "B_re": into, "B_im": into}

    def decay(self, params):
        size = torch.exp(-torch.exp(params["fade"]))
        return size * torch.cos(params["angle"]), size * torch.sin(params["angle"])

    def drive(self, params, x):
        real, imaginary = matvec(params["B_re"], x), matvec(params["B_im"], x)
        return real + 0.5 * imaginary, imaginary - 0.5 * real

    def feedthrough_input(self, params, x):
        return torch.tanh(matvec(params["B_re"], x))

    def layer_output(self, params, state):
        return state[: self.hidden]


def turning_step(params, state, x):
    """h_t = exp(-exp(fade) + i angle) h_{t-1} + (1 - i/2) (B_re + i B_im) x_t."""
    n = len(params["fade"])
    h = torch.complex(state[:n], state[n : 2 * n])
    decay = torch.exp(torch.complex(-torch.exp(params["fade"]), params["angle"]))
    h = decay * h + (1 - 0.5j) * torch.complex(params["B_re"] @ x, params["B_im"] @ x)
    return torch.cat([h.real, h.imag, torch.tanh(params["B_re"] @ x)])


@dataclass(frozen=True)
class Normalised(RNN):
    """Units that meet before they act: each answers to how far it lies from their mean.

    As an RNN it says of itself that they do not: a wrong yes, to be noticed.
    """

    def activate(self, preactivation, state):
        h = torch.tanh(preactivation - preactivation.mean())
        return h, 1.0 - h * h

    def pull(self, cache, cotangent):
        on_gates = cache * cotangent
        return on_gates - on_gates.mean(-1, keepdim=True), torch.zeros_like(cotangent)


@dataclass(frozen=True)
class SometimesNormalised(Normalised):
    """Units that meet only where the last one's pre-activation is negative; a wrong yes as well."""

    def activate(self, preactivation, state):
        meet = (preactivation[-1:] < 0).to(preactivation.dtype)
        h = torch.tanh(preactivation - meet * preactivation.mean())
        return h, torch.cat([1.0 - h * h, meet])

    def pull(self, cache, cotangent):
        on_gates = cache[:-1] * cotangent
        met = cache[-1] * on_gates.mean(-1, keepdim=True)
        return on_gates - met, torch.zeros_like(cotangent)


_TEXTBOOK = {
    "rnn": oracles.rnn_step,
    "lstm": oracles.lstm_step,
    "gru": oracles.gru_step,
    "ctrnn": oracles.ctrnn_step,
    "spectral_rnn": oracles.rnn_step,
    "low_rank_rnn": oracles.low_rank_rnn_step,
    "singular_rnn": oracles.singular_rnn_step,
    "stack": oracles.lstm_below_rnn_step,
}


def with_step(network, kind=None):
    """A network, and its step by other means where there are such."""
    return network, _TEXTBOOK.get(kind, network.step)


# Every architecture of the catalogue, one that the engine knows nothing of, and one whose
# recurrence is element-wise.
NETWORKS = {kind: with_step(make_network(kind), kind) for kind in catalogue.parts("architecture")}
NETWORKS["another"] = with_step(Adapting(HIDDEN, N_IN, N_OUT))
NETWORKS["turning"] = Turning(HIDDEN, N_IN, N_OUT), turning_step


def linear_readout(network):
    """Whether the network's outputs are W_out h + b_out, as the oracles take for granted."""
    return type(network).readout is Architecture.readout


# Those whose past matters to the gradient; a transformer's window depends on no parameter.
REMEMBERING = [kind for kind in NETWORKS if kind != "transformer"]

# Where the options that a part has by default are too long for a short stream, or too few cases.
_SPECIAL = {
    "tbptt": ["tbptt-8-8", "tbptt-6-4", "tbptt-4-1"],
    "rtrl": [{"kind": "rtrl", "block": 10}],
    "trace": [{"kind": "trace", "decay": 0.5}],
    "eprop": [{"kind": "eprop", "feedback": "random", "feedback_scale": 0.7}],
    "snap": ["snap-1", "snap-2"],
}


def _cases(name):
    if name in _SPECIAL:
        return _SPECIAL[name]
    short = catalogue.part("learner", name).part.short
    return [name] + ["-".join([name, *["8"] * len(short)])] * bool(short)


# Every learner of the catalogue, by a name and as a config gives it; their strides divide 24.
LEARNERS = {
    case if isinstance(case, str) else case["kind"]: case
    for name in catalogue.parts("learner")
    for case in _cases(name)
}


# Networks that every learner is tested on, and a learner that is tested on every network.
PLAIN, USUAL = ("rnn", "lstm", "another"), ("immediate",)


# Networks with derivatives of their own, in which exact RTRL has sensitivities of their own.
OF_THEIR_OWN = [
    kind
    for kind, (network, _) in NETWORKS.items()
    if type(derivatives(network)) not in (AutomaticDerivatives, StructuredDerivatives)
]


def fits(network, learner):
    """Whether the learner called so takes the network."""
    try:
        make_learner(learner, network)
    except OrlaError:
        return False
    return True


@functools.cache
def taking(kind):
    """The learners, by name, that take the network called so."""
    return [name for name in LEARNERS if fits(NETWORKS[kind][0], name)]


def make_learner(name, architecture):
    """The learner called so; exact RTRL with blocks short enough to be rebuilt, and quick."""
    spec = LEARNERS.get(name, name) if isinstance(name, str) else name
    return catalogue.make("learner", spec, architecture=architecture)


def _tested(kind, name):
    # A learner that none of the plain networks suits is tested on those that it takes.
    elsewhere = not any(name in taking(plain) for plain in PLAIN)
    own = name == "rtrl" and kind in OF_THEIR_OWN
    return name in taking(kind) and (kind in PLAIN or name in USUAL or elsewhere or own)


def _pairs():
    """The plain network with every learner, every other network with one that few others have."""
    pairs = [("rnn", name) for name in taking("rnn")]
    pairs += [(kind, "rtrl") for kind in dict.fromkeys([*PLAIN[1:], *OF_THEIR_OWN])]
    for kind in NETWORKS:
        times = Counter(name for _, name in pairs)
        if kind == "transformer":  # no learner has a past of it to carry
            pairs.append((kind, *USUAL))
        elif kind not in (one for one, _ in pairs):
            pairs.append((kind, min(taking(kind), key=times.__getitem__)))
    return pairs


# (network, learner): each of both at least once, with every property; and all that are tested.
PAIRS = _pairs()
LEARNED = [
    (kind, name)
    for kind in NETWORKS
    for name in LEARNERS
    if (kind, name) in PAIRS or _tested(kind, name)
]

# Those of them that differ in what a learner carries; the others differ in the network's step.
CARRYING = [(k, n) for k, n in PAIRS if k in (*PLAIN, *OF_THEIR_OWN) or n == "diagonal"]


def in_full(cases, some=PAIRS):
    """The cases as parameters: of them only `some` without `-m full`."""
    return [pytest.param(*c, marks=[] if c in some else pytest.mark.full) for c in cases]


def make_optimizer(name):
    return catalogue.make("optimizer", name)


RATES = torch.tensor([0.003, 0.01, 0.03], dtype=torch.float64)
STEPS, SEGMENT = 48, 24

# Options of probes and interventions: the gradient that they compare with is an observer's.
PART_OPTIONS = {
    "immediate": "present",
    "full": "own",
    "observer": "present",
    "window": SEGMENT,
    "stride": SEGMENT,
    "windows": 2,
}


def make_part(kind, name):
    """The part called so; each option that is in PART_OPTIONS has its value there."""
    options = {f.name for f in options_of(catalogue.part(kind, name))} & PART_OPTIONS.keys()
    return catalogue.make(kind, {"kind": name, **{o: PART_OPTIONS[o] for o in options}})


# Every probe and intervention.
WATCHING = [(k, n) for k in ("probe", "intervention") for n in catalogue.parts(k)]


SQUARED_ERROR = catalogue.make("loss", "squared_error")


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


def make_loop(name, kind, rule=None, segment=SEGMENT, **parts):
    """A loop of the learner called `name` on the network called `kind`."""
    learner = make_learner(name, NETWORKS[kind][0])
    return Loop(learner, rule or Adam(), SQUARED_ERROR, segment=segment, **parts)


@functools.cache
def ran(kind, name):
    """The run that tests of the pair share: three models, with a snapshot after each segment."""
    params = networks(NETWORKS[kind][0], models=3)
    return adapt(make_loop(name, kind), params, RATES, *stream(STEPS), snapshots=[SEGMENT, STEPS])


def built(kind, hidden=HIDDEN, **options):
    """The architecture called so, of this size and these options alone."""
    given = {"kind": kind, "hidden": hidden, **options}
    return catalogue.make("architecture", given, n_in=N_IN, n_out=N_OUT)


def one(network, model=0):
    """Parameters of one of the lively networks."""
    return {name: p[model] for name, p in networks(network).items()}


def begun(network):
    """The same with biases and scales that are neither 0 nor 1."""
    drawn = torch.Generator().manual_seed(5)
    return {
        name: p + 0.3 * torch.randn(p.shape, generator=drawn, dtype=torch.float64)
        for name, p in one(network).items()
    }


def trajectory(network, params, X):
    """The state after each step, (steps, state)."""
    start = network.initial_state(params)
    return torch.stack(oracles.states(network.step, start, [params] * len(X), X)[1:])


def initial(architecture):
    """The state before the first step."""
    return torch.zeros(architecture.state_size, dtype=torch.float64)


def adapt(
    loop, params, rates, X, Y, snapshots=(), on_segment=None, state=None, seeds=None, **masks
):
    """Run a loop from the beginning, or from a state, over a stream and its masks."""
    if state is None:
        state = loop.start(params, seeds=seeds)
    moments = {"x": X, "y": Y, **masks}
    return loop.run(state, rates, moments, snapshots=snapshots, on_segment=on_segment)


@dataclass(frozen=True)
class Recorder(Probe):
    """Everything that an update is made of, as series."""

    def measure(self, state, update):
        seen = {f"gradient {n}": g for n, g in update.gradients.items()}
        seen |= {f"learned {n}": g for n, g in update.learner.items()}
        seen |= {f"params {n}": p for n, p in update.params.items()}
        for name, gradient in update.observers.items():
            seen |= {f"of {name} {n}": g for n, g in gradient.items()}
        return state, seen


@dataclass(frozen=True)
class Smoothing(Intervention):
    """The running sum of gradients, each past one halved at every update: a chain with a state."""

    def init(self, params):
        return {n: torch.zeros_like(p) for n, p in params.items()}

    def update(self, gradients, state, params):
        after = dict(state)
        for name, g in gradients.own.items():
            after[name] = 0.5 * state[name] + g
        return {name: after[name] for name in gradients.own}, after


@dataclass(frozen=True)
class Counting(Probe):
    """The sum of the errors so far, and of all gradients that observers answered."""

    def init(self, params):
        zero = params["W_out"].new_zeros(())
        return {"errors": zero, "observed": zero}

    def measure(self, state, update):
        seen = [g.sum() for one in update.observers.values() for g in one.values()]
        after = {
            "errors": state["errors"] + update.error.sum(),
            "observed": state["observed"] + sum(seen),
        }
        return after, {f"so far {name}": value for name, value in after.items()}


@dataclass(frozen=True)
class Drawing(Learner):
    """Immediate's gradient, each step's share times the mean of the numbers that it drew."""

    numbers: int = 2
    window: int = 1

    @property
    def stride(self):
        return self.window

    @property
    def noise_size(self):
        return self.numbers

    def gradient(self, carry, params, step):
        alone = self.window == 1
        tape, cotangent, noise = (
            pytree.tree_map(lambda t: t[None] if alone else t, step[name])
            for name in ("tape", "cotangent", "noise")
        )
        scaled = cotangent * noise.mean(-1, keepdim=True)
        pulled = [
            self.derivatives.pull(params, {n: t[at] for n, t in tape.items()}, scaled[at])[1]
            for at in range(self.window)
        ]
        return carry, self.derivatives.summed_gradient(tape, stack_trees(pulled))


@dataclass
class Watched:
    """What the optimizer saw: series of {parameter: (models, updates, ...)}."""

    result: object

    def series(self, of):
        """A list over updates of {parameter: (models, ...)}: gradient, learned, params, of NAME."""
        found = {
            key.removeprefix(f"{of} "): torch.as_tensor(values)
            for key, values in self.result.series.items()
            if key.startswith(f"{of} ")
        }
        updates = next(iter(found.values())).shape[1] if found else 0
        return [{name: g[:, update] for name, g in found.items()} for update in range(updates)]

    @property
    def gradients(self):
        return self.series("gradient")

    def model(self, index, of="gradient"):
        """Gradients and parameters of one model."""
        return tuple(
            [{n: g[index] for n, g in one.items()} for one in self.series(what)]
            for what in (of, "params")
        )


def watch(
    learner,
    params,
    X,
    Y,
    *,
    rate=0.0,
    optimizer=None,
    segment=None,
    loss=SQUARED_ERROR,
    observers=None,
    interventions=(),
    probes=(),
    seeds=None,
    **masks,
):
    """Go through the stream as the study does and keep each update's gradient and parameters.

    A rate of 0 freezes the weights; any other lets plain gradient descent move them.
    """
    loop = Loop(
        learner,
        optimizer or make_optimizer("sgd"),
        loss,
        observers=observers or {},
        interventions=interventions,
        probes=[*probes, Recorder()],
        segment=segment or learner.stride,
    )
    rates = params["W_out"].new_full((len(params["W_out"]),), rate)
    return Watched(adapt(loop, params, rates, X, Y, state=loop.start(params, seeds=seeds), **masks))


def adapted(learner, steps, params=None, model=0, **options):
    """Gradients and parameters of each update of one model, over the tests' own stream."""
    params = networks(learner.architecture) if params is None else params
    return watch(learner, params, *stream(steps), **options).model(model)


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
        assert torch.isfinite(a).all() and torch.isfinite(b).all()
        worst = max(worst, float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)))
    return worst


# Parameters without an immediate derivative: they act on what the next step reads, or never learn.
FIXED = {"singular_rnn": {"U_hh", "V_hh"}}
LAGGED = {"rwkv": {"decay"}, **FIXED}


def all_learn(gradients, but=()):
    """Whether every parameter has a gradient that is not vacuously zero, `but` none at all."""
    return all(
        (max(float(step[name].abs().max()) for step in gradients) > 1e-3) == (name not in but)
        for name in gradients[0]
    )


def same(a, b):
    """Whether two trees of tensors have the same structure and bits; NaN equals NaN."""
    leaves, structure = pytree.tree_flatten(a)
    others, other = pytree.tree_flatten(b)
    if structure != other:
        return False
    pairs = zip(leaves, others, strict=True)
    return all(x.shape == y.shape and bool(_equal(x, y)) for x, y in pairs)


def _equal(x, y):
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    return ((x == y) | ((x != x) & (y != y))).all()


def everything(state):
    """All that a state carries, as a tree of tensors."""
    return {
        "params": state.params,
        "network": state.network,
        "optimizer": state.optimizer,
        "interventions": list(state.interventions),
        "probes": list(state.probes),
        "step": torch.tensor(state.step),
        "learners": state.learners,
        "buffers": state.buffers,
    }


def cumulative(factor):
    """A loop whose body closes over a number."""

    def body(carry, x):
        return factor * carry + x, carry

    return lambda start, xs: scan(body, start, xs)
