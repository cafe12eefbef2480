"""Every learner's errors and gradients at each update against its definition, while weights move.

A definition is a recursion of dense Jacobians of the textbook step, or autograd over a window.
"""

from functools import cache, cached_property

import oracles
import pytest
import torch
from harness import (
    FIXED,
    LAGGED,
    LEARNED,
    N_OUT,
    NETWORKS,
    PAIRS,
    PLAIN,
    REMEMBERING,
    all_learn,
    distance,
    fits,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from learners.others import OTHERS

from orla import catalogue
from orla.architectures.elementwise import ElementWise

STEPS, EXACT = 16, 1e-10
LOSSES = {"squared_error": oracles.loss, "cross_entropy": oracles.cross_entropy}


@cache
def at_rest(kind):
    """Of a network's own step with weights that stand still, for all learners."""
    (network, step), (X, Y) = NETWORKS[kind], stream(STEPS)
    params = {n: p[1] for n, p in networks(network).items()}
    return oracles.linearised(step, initial(network), [params] * STEPS, X, Y)


class Run:
    """A learner on a stream; of one of two models all that a definition is worked out of."""

    def __init__(self, kind, spec, loss, rate=0.05):
        self.kind, (self.network, self.step) = kind, (NETWORKS | OTHERS)[kind]
        self.learner, (self.X, self.Y) = make_learner(spec, self.network), stream(STEPS)
        if loss == "cross_entropy":
            drawn = torch.Generator().manual_seed(7)
            self.Y = torch.randint(N_OUT, (STEPS,), generator=drawn)
        self.error = oracles.error_of(self.step, LOSSES[loss])
        self.rate, given = rate, {"rate": rate, "loss": catalogue.make("loss", loss)}
        watched = watch(self.learner, networks(self.network), self.X, self.Y, **given)
        self.errors = torch.as_tensor(watched.result.errors[1])
        self.ours, self.used = watched.model(1)
        self.by_step = [p for p in self.used for _ in range(self.learner.stride)]

    @cached_property
    def visited(self):
        return oracles.states(self.step, initial(self.network), self.by_step, self.X)

    @cached_property
    def linear(self):
        return self.linearised(self.by_step, self.Y) if self.rate else at_rest(self.kind)

    def linearised(self, by_step, Y):
        return oracles.linearised(self.step, initial(self.network), by_step, self.X, Y, self.error)

    def summed(self, each):
        """Over the steps of each update."""
        starts = range(0, STEPS, self.learner.stride)
        parts = [each[start : start + self.learner.stride] for start in starts]
        return [{n: sum(g[n] for g in part) for n in part[0]} for part in parts]


def immediate(run, linear):
    return run.summed(oracles.recursion(linear, lambda J: 0.0 * J))


def of_readout(run, linear):
    names = run.network.readout_shapes()
    return [{n: g[n] for n in names} for g in immediate(run, linear)]


def exact(run, linear, factor=1.0):
    return oracles.recursion(linear, lambda J: factor * J)


def trace(run, linear, more=0.0):
    """e <- decay e + D."""
    decay = run.learner.decay + more
    return oracles.recursion(linear, lambda J: decay * torch.eye(len(J)).double())


def by_own_units(run, linear, single=False):
    """J without the numbers of other units, or without other numbers of the unit as well."""
    size, hidden = run.network.state_size, run.network.hidden
    units = torch.arange(size) % (size if single or size % hidden else hidden)
    if isinstance(run.network, ElementWise):  # its Jacobian has no others
        units = 0 * units
    return oracles.recursion(linear, lambda J: (units[:, None] == units) * J)


def masks(linear, steps):
    """Where n steps can take a parameter, {parameter: (state, *shape)}, by paths one at a time."""
    J, D, _, _ = linear[5]  # of a state and weights that nothing singles out
    found = {}
    for name, d in D.items():
        reached = direct = (d.flatten(1) != 0).int()
        for _ in range(steps - 1):
            further = torch.zeros_like(reached)
            for to, come in (J != 0).nonzero().tolist():
                further[to] |= reached[come]
            reached = direct | further
        found[name] = reached.view(d.shape).double()
    return found


def sparse(run, linear, more=0):
    recurrent = run.network.recurrent_shapes()
    kept = {n: m for n, m in masks(linear, run.learner.steps + more).items() if n in recurrent}
    return oracles.recursion(linear, kept=kept)


def truncated(run, linear, more=0):
    given = run.step, initial(run.network), run.used, run.X, run.Y
    window, stride = run.learner.window + more, run.learner.stride
    return oracles.truncated(*given, window, stride, run.visited, run.error)


DEFINITIONS = {
    "immediate": immediate,
    "last-layer": of_readout,
    "rtrl": exact,
    "diagonal": exact,
    "trace": trace,
    "d_rtrl": by_own_units,
    "snap": sparse,
    "tbptt": truncated,
}


def wrong(run):
    """(gradients, how far they are at least) by other definitions: the negative controls."""
    name, linear = run.learner.part.name, run.linear
    if name == "immediate" and run.kind in REMEMBERING:
        yield run.summed(exact(run, linear)), 1e-2
    if name == "immediate" and run.learner.window > 1:
        stride = run.learner.stride
        yield [{n: g / stride for n, g in one.items()} for one in immediate(run, linear)], 1e-2
    if name in ("rtrl", "diagonal"):
        yield exact(run, linear, 1 - 1e-4), 1e-6
    if name == "diagonal":
        yield immediate(run, linear), 1e-6
    if name == "trace":
        yield trace(run, linear, 0.01), 1e-4
    if name == "d_rtrl" and run.kind in REMEMBERING:
        yield immediate(run, linear), 1e-2
        if not isinstance(run.network, ElementWise):
            yield exact(run, linear), EXACT
    if name == "d_rtrl" and run.kind in ("lstm", "another"):
        yield by_own_units(run, linear, single=True), 1e-2
    if name == "snap" and run.learner.steps < 4:
        more = 1 if run.learner.steps == 1 else -1
        kept, other = (masks(linear, run.learner.steps + m) for m in (0, more))
        if any((kept[n] != other[n]).any() for n in run.network.recurrent_shapes()):
            yield sparse(run, linear, more), 1e-3
    if name == "tbptt" and run.learner.window < STEPS:
        yield truncated(run, linear, 1), 1e-4
        if run.learner.window > run.learner.stride:
            yield truncated(run, linear, -1), 1e-4
    if run.kind in PLAIN and run.learner.stride == 1 and name not in ("last-layer", "tbptt"):
        frozen = run.linearised([run.used[0]] * STEPS, run.Y)
        yield DEFINITIONS[name](run, frozen), 1e-3


def options(kind, **given):
    return {"kind": kind, **given}


SPARSE = [*(kind for kind, (network, _) in NETWORKS.items() if fits(network, "snap-1")), "ring"]
# Beside each learner on the networks that it is tested on: what its definition tells apart.
FURTHER = [
    *((kind, options("trace", decay=0.5)) for kind in NETWORKS),
    *(("rnn", options("trace", decay=decay)) for decay in (0.0, 1.0)),
    *((kind, "d_rtrl") for kind in [*NETWORKS, "surplus"]),
    *((kind, f"snap-{steps}") for kind in SPARSE for steps in (1, 2)),
    *(("ring", f"snap-{steps}") for steps in (3, 5)),
    *((kind, "immediate") for kind in NETWORKS),
    *((kind, "immediate-4") for kind in PLAIN),
    *((kind, f"tbptt-{w}") for kind in PLAIN for w in ("1-1", "4-1", "6-4", "8-8", "40-2")),
]
CASES = {(kind, str(spec), "squared_error"): spec for kind, spec in FURTHER}
# With cross-entropy a few: a learner sees of the loss its cotangents alone.
USUAL = {(*pair, loss) for loss, step in zip(LOSSES, (1, 5), strict=True) for pair in PAIRS[::step]}
IN_FULL = {(*pair, loss) for pair in LEARNED for loss in LOSSES} - USUAL - {*CASES}
CASES |= {(*pair, loss): pair[1] for pair in LEARNED for loss in LOSSES}


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[pytest.mark.full] * (c in IN_FULL), id="-".join(c)) for c in CASES],
)
def test_errors_and_gradients_of_each_update_are_those_of_the_definition(case):
    kind, _, loss = case
    # Of what LEARNED has not, weights move on the plain networks, where learners differ.
    moving = kind in (*PLAIN, *OTHERS) or (kind, CASES[case]) in LEARNED
    run = Run(kind, CASES[case], loss, rate=0.05 if moving else 0.0)
    name, after = run.learner.part.name, run.visited[1:]
    errors = [run.error(*given) for given in zip(run.by_step, after, run.Y, strict=True)]
    torch.testing.assert_close(run.errors, torch.stack(errors), rtol=1e-12, atol=1e-14)
    assert (distance([run.used[-1]], [run.used[0]]) > 0.01) == moving
    readout = of_readout(run, run.linear)
    assert distance([{n: g[n] for n in readout[0]} for g in run.ours], readout) < EXACT
    if name not in DEFINITIONS:  # they have a file of their own
        return
    truth = DEFINITIONS[name](run, run.linear)
    assert distance(run.ours, truth) < EXACT
    if name == "last-layer":  # which leaves all else alone, bit for bit
        assert {*run.ours[0]} == {*readout[0]}
        before, after = run.used[0], run.used[-1]
        assert all(torch.equal(before[n], after[n]) for n in before.keys() - readout[0].keys())
    else:
        still = (LAGGED if name in ("immediate", "trace") else FIXED).get(kind, ())
        assert all_learn(truth, still)
    for other, least in wrong(run):
        assert distance(run.ours, other) > least
    if loss == "cross_entropy":
        rolled = of_readout(run, run.linearised(run.by_step, run.Y.roll(1)))
        assert distance([{n: g[n] for n in readout[0]} for g in run.ours], rolled) > 1e-2


def test_every_learner_has_a_definition_or_a_file_of_its_own():
    here = {*DEFINITIONS, "uoro", "kf-rtrl", "rflo", "eprop"}
    assert here == {*catalogue.parts("learner")}


def test_the_definitions_agree_where_they_have_to():
    """Windows over everything are exact, none are immediate; n steps of paths reach everything."""
    run = Run("lstm", "tbptt-40-1", "squared_error", rate=0.0)
    whole = oracles.whole_history(run.step, initial(run.network), run.used, run.X, run.Y)
    assert distance(truncated(run, run.linear), whole) < EXACT
    assert distance(exact(run, run.linear), whole) < EXACT
    assert distance(truncated(run, run.linear, -39), immediate(run, run.linear)) < EXACT
    detached = oracles.immediate(run.step, initial(run.network), run.used, run.X, run.Y)
    assert distance(immediate(run, run.linear), detached) < EXACT
    for steps, all_reached in ((1, False), (2, True)):
        kept = masks(run.linear, steps)
        reached = all(kept[n].all() for n in run.network.recurrent_shapes())
        assert reached == all_reached
