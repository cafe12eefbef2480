"""What the memory model counts: against earlier formulas, and the tensors that the engine makes."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from harness import fits, networks, specified
from programs.support import learner, loop, moments, network
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.engine import memory
from orla.engine.asked_memory import sizes
from orla.engine.loop import Loop
from orla.engine.state import PRECISIONS
from orla.errors import OrlaError
from orla.interventions.base import Intervention
from orla.learners.base import Learner
from orla.losses.squared_error import SquaredError
from orla.optimizers.sgd import SGD

MODELS = 3

# Bytes of five models of 64 units, 40 inputs and 2 outputs at 100,000 steps in float64 with six
# snapshots each, by formulas from lists of sizes: (parameters, optimizer, sensitivity, all but
# fixed).
EARLIER = {
    ("rnn", "immediate", "adam"): (822_000, 1_644_480, 0, 119_328_400),
    ("rnn", "immediate", "adafactor"): (822_000, 43_920, 0, 117_727_840),
    ("rnn", "last-layer", "sgd"): (822_000, 0, 0, 117_683_920),
    ("rnn", "immediate-200", "adam"): (1_370_000, 2_740_800, 0, 123_876_720),
    ("rnn", "tbptt-200-200", "sgd"): (1_370_000, 0, 0, 122_159_920),
    ("rnn", "tbptt-200-50", "lars"): (1_370_000, 0, 0, 120_989_920),
    ("rnn", "rtrl", "adam"): (822_000, 1_644_480, 17_203_200, 152_707_600),
    ("lstm", "immediate", "adam"): (3_241_200, 6_482_880, 0, 131_442_320),
    ("lstm", "tbptt-200-200", "adafactor"): (5_402_000, 188_400, 0, 136_356_640),
    ("lstm", "tbptt-200-50", "adam"): (5_402_000, 10_804_800, 0, 145_419_040),
    ("lstm", "rtrl", "lars"): (3_241_200, 0, 137_625_600, 358_633_040),
}


def a_loop(architecture="rnn", driver="immediate", rule="adam", hidden=64, n_in=40):
    made = catalogue.make(
        "architecture", {"kind": architecture, "hidden": hidden}, n_in=n_in, n_out=2
    )
    return Loop(
        catalogue.make("learner", driver, architecture=made),
        catalogue.make("optimizer", rule),
        SquaredError(),
        segment=600,
    )


def bytes_of(tree):
    return sum(leaf.nbytes for leaf in pytree.tree_leaves(tree))


@pytest.mark.parametrize("names", EARLIER, ids="-".join)
def test_predictions_are_those_of_earlier_formulas(names):
    counted = memory.components(a_loop(*names), snapshots=6)
    params, optimizer, sensitivity, everything = EARLIER[names]
    assert counted["parameters"] == params
    assert counted["optimizer"] == optimizer
    assert counted["sensitivity"] == sensitivity
    assert sum(counted.values()) - counted["fixed"] == pytest.approx(everything, rel=0.03)


def form(name):
    """A learner's short form, with windows of 8 steps where it has some."""
    return "-".join([name, *["8"] * len(catalogue.parts("learner")[name].part.short)])


TAKEN = [
    (kind, form(name))
    for kind in ("rnn", "lstm", "another")
    for name in catalogue.parts("learner")
    if fits(network(kind), form(name))
]
RULES = catalogue.parts("optimizer")
# Every learner with one optimizer after the other, and one learner with every optimizer.
COUNTED = {(*taken, rule) for taken, rule in zip(TAKEN, itertools.cycle(RULES), strict=False)}
COUNTED |= {("rnn", "immediate-8", rule) for rule in RULES}


@pytest.mark.parametrize(("kind", "name", "rule"), sorted(COUNTED))
def test_what_is_carried_is_counted_as_it_is_made(kind, name, rule, monkeypatch):
    driver = learner(name, kind)
    made = loop(driver, rule, probes=())
    state = made.start(networks(driver.architecture, MODELS))
    counted = memory.components(made, models=MODELS)
    copies = 5 if driver.loops else 3
    assert counted["parameters"] == copies * bytes_of(state.params)
    assert counted["optimizer"] == copies * bytes_of(state.optimizer)
    assert counted["network"] == bytes_of(state.network)
    # One counter of exact RTRL is for all models.
    assert counted["carry"] == pytest.approx(2 * bytes_of(state.learners["own"].carry), abs=32)
    assert counted["buffers"] == bytes_of(state.learners["own"].memory.changed)
    assert counted["sensitivity"] == bytes_of(state.learners["own"].memory.read)
    beside = 0 if driver.block_length else 3
    assert counted["temporaries"] == beside * counted["buffers"]
    # A model that is not made is counted the same.
    monkeypatch.setattr(memory, "_MADE", 0)
    assert memory.components(made, models=MODELS) == counted


COUNTING = """
import itertools
import json
import sys
from orla import catalogue
from orla.engine import memory
from orla.engine.loop import loop_of
from orla.losses.squared_error import SquaredError

for network in json.loads(sys.argv[1]):
    for learner in ("rtrl", "immediate", "tbptt-200-200"):
        parts = {"network": network, "learner": learner, "optimizer": "adam"}
        memory.components(loop_of(parts, 40, 2, SquaredError()))
        assert "torch" in sys.modules and "torch._dynamo" not in sys.modules, (network, learner)
"""


def test_counting_a_small_model_loads_no_compiler():
    counted = [{"kind": "lstm", "hidden": 64}]
    counted += [specified(kind, 10) for kind in catalogue.parts("architecture")]
    command = [sys.executable, "-c", COUNTING, json.dumps(counted)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize(("kind", "name"), TAKEN)
def test_what_a_learner_carries_is_counted_as_it_is_made(kind, name):
    driver = learner(name, kind)
    for precision, dtype in PRECISIONS.items():
        params = {n: p.to(dtype) for n, p in networks(driver.architecture, 1).items()}
        made = loop(driver, probes=())
        carried = made.start(params).learners["own"]
        held = bytes_of([carried.carry, carried.memory.changed, carried.memory.read])
        tapes = memory.components(made, models=1, precision=precision)["tapes"]
        assert memory.carried_bytes(driver, SGD(), dtype) == held + tapes


def test_a_learner_that_looks_at_one_step_alone_carries_nothing():
    assert memory.carried_bytes(learner("immediate"), SGD(), torch.float64) == 0
    # The dense sensitivity (state, parameters), and a block beside it.
    exact = a_loop(driver="rtrl").learner
    assert memory.carried_bytes(exact, SGD(), torch.float64) > 8 * 64 * 64 * (40 + 64 + 1)
    for kind in unlisted()[:2]:
        carried = memory.carried_bytes(kind(exact.architecture), SGD(), torch.float64)
        assert carried == 100 * 8 * exact.architecture.parameter_count()


def test_a_look_is_counted_once_however_many_models():
    looking = catalogue.make("probe", "condition_number")
    made = replace(a_loop("lstm"), probes=[looking, looking], segment=200)
    for models in (1, 7):
        counted = memory.components(made, models=models)["looks"]
        assert counted == 3 * 64 * (4 * 64 * (40 + 64 + 1)) * 8
    for none in (a_loop("lstm"), loop(learner("immediate"), probes=["update_ratio"])):
        assert memory.components(none)["looks"] == 0


@pytest.mark.parametrize("kind", ["rnn", "lstm", "another"])
@pytest.mark.parametrize("name", ["immediate-6", "tbptt-6-6", "tbptt-9-6"])
def test_tapes_of_a_window_are_counted_as_they_are_made(kind, name):
    driver = learner(name, kind)
    params, kept = networks(driver.architecture, MODELS), []
    state = loop(driver, probes=(), segment=6).start(params)
    d, network_state = driver.derivatives, state.network
    for t in range(6):
        moment = {n: m[t] for n, m in moments(6).items()}
        before = network_state
        network_state, tape = d.forward(params, before, moment)
        error, cotangent, readout = d.readout(loop(driver).loss, params, network_state, moment)
        _, local = d.pull(params, tape, cotangent)
        kept.append((before, tape, error, cotangent, readout, local))
    past = 3 * bytes_of((tape, local)) if name == "tbptt-9-6" else 0
    counted = memory.components(loop(driver, "sgd", segment=6), models=MODELS)
    assert counted["tapes"] == bytes_of(kept) + past


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_the_kernels_store_is_close_to_what_is_counted(kind, with_kernels, monkeypatch):
    made = a_loop(kind, "rtrl")
    shapes = made.learner.architecture.shapes()
    params = {n: torch.zeros(1, *s, dtype=torch.float64) for n, s in shapes.items()}
    slots = made.learner.memory(params).changed
    assert "on_gates" in slots["slots"]
    monkeypatch.undo()
    counted = memory.components(made, models=1)["buffers"]
    assert counted == pytest.approx(bytes_of(slots), rel=0.03)


def unlisted():
    """Parts that no list knows; within a function, so that the catalogue does not find them."""

    class Hoarder(Learner, name="hoarder"):
        """A learner that keeps a hundred copies of the parameters."""

        def init(self, params):
            return {name: p[:, None].expand(-1, 100, *p.shape[1:]) for name, p in params.items()}

        def gradient(self, carry, params, step):
            return carry, {}

    class Asking(Hoarder, name="asking"):
        """A learner that looks at a value as it begins, which the meta device refuses."""

        def init(self, params):
            assert float(params["W_out"].sum()) == 0.0
            return super().init(params)

    class Averaged(Intervention, name="averaged"):
        """An intervention that keeps a mean gradient."""

        def init(self, params):
            return {name: torch.zeros_like(p) for name, p in params.items()}

        def update(self, gradients, state, params):
            return gradients.own, state

    return Hoarder, Asking, Averaged


@pytest.mark.parametrize("which", [0, 1])
def test_parts_that_nobody_listed_are_counted(which):
    kind, averaged = unlisted()[which], unlisted()[2]
    made = a_loop()
    architecture = made.learner.architecture
    plain = memory.components(made, models=MODELS)
    one = plain["parameters"] // 3
    own = memory.components(replace(made, learner=kind(architecture)), models=MODELS)
    assert own["carry"] == 2 * 100 * one and plain["carry"] == 0
    watching = {"observers": {"a": kind(architecture)}, "interventions": [averaged()]}
    watched = memory.components(replace(made, **watching), models=MODELS)
    assert watched["carry"] == 2 * 101 * one and watched["gradients"] == 2 * one
    exact = a_loop(driver="rtrl").learner
    watched = memory.components(replace(made, observers={"e": exact}), models=MODELS)
    alone = memory.components(replace(made, learner=exact), models=MODELS)
    for name in ("sensitivity", "buffers", "tapes"):
        assert watched[name] == alone[name] > 0
    assert {"hoarder", "asking"}.isdisjoint(catalogue.parts("learner"))


def test_the_sum_grows_with_what_it_is_made_of():
    def peak(driver="rtrl", rule="adam", hidden=128, **sizes):
        return memory.peak_bytes(a_loop("rnn", driver, rule, hidden), **sizes)

    small = peak(models=5)
    assert peak(hidden=256) > small and peak(models=10) > small
    assert peak(rule="sgd") < small and peak("immediate") < small
    assert peak(steps=200_000) > small and peak(snapshots=9) > small
    shared = 2 * 8 * memory.LONGEST * 42
    assert peak(own_streams=7) - small == (7 + 5) * shared // 2 - shared
    single = memory.components(a_loop(driver="rtrl"), precision="float32")
    double = memory.components(a_loop(driver="rtrl"), precision="float64")
    for name in ("parameters", "optimizer", "buffers", "sensitivity", "tapes"):
        assert 2 * single[name] == double[name]
    assert double["fixed"] == single["fixed"] > 900e6
    assert set(PRECISIONS) == {"float64", "float32"}


def test_snapshots_are_models_kept_after_each_step_that_is_scored():
    one = memory.components(a_loop(), models=1)
    kept = memory.components(a_loop(), models=3, snapshots=7)["snapshots"]
    assert kept == 7 * 3 * (one["parameters"] // 3 + one["network"])
    job = {"keys": {"precision": "float64"}, "stable_windows": 10, "horizons": []}
    assert sizes(job)["snapshots"] == 20
    assert sizes(job | {"stable_windows": 3, "horizons": [400, 800]})["snapshots"] == 10


def test_an_unknown_precision_is_named():
    with pytest.raises(OrlaError, match=r"float16.*float32"):
        memory.peak_bytes(a_loop(), precision="float16")


def batch(most=5, driver="rtrl", architecture="rnn", hidden=64, n_in=40, **changed):
    return memory.batch_models(a_loop(architecture, driver, "adam", hidden), most=most, **changed)


def test_batches_are_cut_to_the_memory_of_the_job():
    def peak(models):
        return memory.peak_bytes(a_loop(hidden=512), models=models) / 1e6

    large = {"driver": "immediate", "hidden": 512, "device": "cuda"}
    for models in (1, 3, 5):
        assert batch(**large, memory_mb=peak(models) + 1.0) == models
        assert batch(**large, memory_mb=peak(models + 1) - 1.0) == models
    assert batch(**large, memory_mb=10 * peak(5)) == 5 == batch(**large)
    with pytest.raises(OrlaError, match=r"needs \d+ MB and the job has 100;.*mem_mb=\d+"):
        batch(**large, memory_mb=100)


def test_what_a_batch_touches_stays_in_cache_on_a_cpu():
    # These sizes decide the last digits of the study: they are those of the earlier formulas.
    assert batch() == 2 and batch(hidden=256) == 1
    assert batch(precision="float32") == 4
    assert batch(device="cuda") == 5
    assert batch(driver="immediate") == 5
    assert batch(driver="immediate", most=25) == 24
    assert batch(driver="immediate", most=25, architecture="lstm") == 6
    assert batch(driver="tbptt-200-200", most=400) == 24
    # A trace is gone through at each step.
    assert batch(driver="trace", most=25) < 24
