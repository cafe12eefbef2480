"""What the memory model counts, held to the tensors that the engine really makes."""

import subprocess
import sys

import harness
import pytest
import torch
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures import LSTM, RNN
from orla.engine import memory
from orla.errors import OrlaError
from orla.learners import RTRL, learner
from orla.optimizers import OPTIMIZERS, optimizer
from orla.study.batches import PRECISIONS

MODELS = 3
NETWORKS = [RNN(8, 5, 2), LSTM(6, 4, 3), harness.Adapting(5, 3, 2)]


def bytes_of(tree):
    return sum(leaf.nbytes for leaf in pytree.tree_leaves(tree))


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_parameters_and_optimizer_states_are_counted_exactly(network, precision):
    params = harness.networks(network, MODELS, dtype=PRECISIONS[precision])
    each = MODELS * memory.BYTES[precision]
    sizes = memory.sizes(network)
    assert sizes.parameters * each == bytes_of(params)
    for name in OPTIMIZERS:
        state = vmap(optimizer(name).init)(params)
        assert memory.optimizer_numbers(name, sizes) * each == bytes_of(state), name


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize(
    "name", ["immediate", "last-layer", "immediate-4", "tbptt-4-4", "tbptt-6-2"]
)
def test_what_a_learner_carries_is_counted_exactly(network, name):
    params = harness.networks(network, MODELS)
    carry = dict(learner(name, network).init(params))
    for shared in ("past_inputs", "past_exists"):  # one for all models
        carry.pop(shared, None)
    held = memory.learner_numbers(name, memory.sizes(network), block=4)
    assert held.carry * MODELS * 8 == bytes_of(carry)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: type(n).__name__)
def test_sensitivities_and_the_store_of_exact_rtrl_are_counted_exactly(network, with_kernels):
    made, params = RTRL(network, block=4), harness.networks(network, MODELS)
    block = made.memory(params)
    held = memory.learner_numbers("rtrl", memory.sizes(network), block=4)
    assert held.sensitivity * MODELS * 8 == bytes_of(block.read)
    assert held.carry * MODELS * 8 == bytes_of((made.init(params)["state"], block.changed))


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: type(n).__name__)
def test_tapes_are_counted_exactly(network):
    params = harness.networks(network, MODELS)
    (X, Y), state = harness.stream(1, n_in=network.n_in, n_out=network.n_out), None
    derivatives = learner("immediate", network).derivatives
    state = vmap(network.initial_state)(params)
    after, tape = derivatives.forward(params, state, X[0])
    loss, cotangent, readout = derivatives.readout(params, after, Y[0])
    _, local = derivatives.pull(params, tape, cotangent)
    sizes = memory.sizes(network)
    immediate = memory.learner_numbers("immediate-7", sizes, block=4)
    assert immediate.tapes * MODELS * 8 == 7 * bytes_of((tape, loss, readout, local))
    whole = memory.learner_numbers("tbptt-7-7", sizes, block=4)
    assert whole.tapes * MODELS * 8 == 7 * bytes_of((state, tape, loss, cotangent, readout, local))


@pytest.mark.parametrize("made", [RNN(8, 5, 2), LSTM(6, 4, 3)], ids=lambda n: type(n).__name__)
def test_listed_sizes_are_those_of_the_architecture(made):
    name = type(made).__name__.lower()
    assert memory.sizes(name, made.hidden, made.n_in, made.n_out) == memory.sizes(made)


@pytest.mark.parametrize("made", [RNN(16, 3, 2), RNN(64, 3, 2), LSTM(64, 3, 2), RNN(200, 3, 2)])
def test_the_store_of_a_default_block_is_counted(made, with_kernels):
    params = harness.networks(made, 1)
    counted = memory.components(made, "rtrl", "sgd", models=1)["carry"]
    kept = (RTRL(made).init(params)["state"], RTRL(made).memory(params).changed)
    assert counted == bytes_of(kept)


def test_the_sum_grows_with_what_it_is_made_of():
    small = memory.peak_bytes("rnn", "rtrl", "adam", hidden=128, models=5)
    assert memory.peak_bytes("rnn", "rtrl", "adam", hidden=256, models=5) > small
    assert memory.peak_bytes("rnn", "rtrl", "adam", hidden=128, models=10) > small
    assert memory.peak_bytes("rnn", "rtrl", "sgd", hidden=128, models=5) < small
    assert memory.peak_bytes("rnn", "immediate", "adam", hidden=128, models=5) < small
    single = memory.components("rnn", "rtrl", "adam", precision="float32")
    double = memory.components("rnn", "rtrl", "adam", precision="float64")
    halved = ("parameters", "optimizer", "carry", "sensitivity", "tapes")
    assert all(2 * single[part] == double[part] for part in halved)


def test_asking_while_a_workflow_is_read_imports_no_torch():
    code = (
        "import sys; from orla import memory; memory.peak_bytes('lstm', 'rtrl', 'adam');"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"architecture": "gru"},
        {"learner": "bptt"},
        {"optimizer": "adamw"},
        {"precision": "float16"},
    ],
)
def test_unknown_names_are_named(wrong):
    names = {"architecture": "rnn", "learner": "rtrl", "optimizer": "adam"} | wrong
    with pytest.raises(OrlaError, match=next(iter(wrong.values()))):
        memory.peak_bytes(**names)


def test_an_array_more_is_noticed():
    # The control: the comparisons above would see one vector of the state that is not counted.
    params = harness.networks(NETWORKS[0], MODELS)
    carry = learner("immediate", NETWORKS[0]).init(params)
    more = carry | {"another": torch.zeros_like(carry["state"])}
    held = memory.learner_numbers("immediate", memory.sizes(NETWORKS[0]), block=4)
    assert held.carry * MODELS * 8 != bytes_of(more)


def batch(most=5, **changed):
    names = {"architecture": "rnn", "learner": "rtrl", "optimizer": "adam"} | changed
    return memory.batch_models(most=most, **names)


def test_batches_are_cut_to_the_memory_of_the_job():
    def peak(models):
        return memory.peak_bytes("rnn", "immediate", "adam", hidden=512, models=models) / 1e6

    large = {"learner": "immediate", "hidden": 512, "device": "cuda"}
    for models in (1, 3, 5):
        limit = peak(models) + 1.0
        assert batch(**large, memory_mb=limit) == models
    assert batch(**large, memory_mb=10 * peak(5)) == 5
    assert batch(**large) == 5
    with pytest.raises(OrlaError, match=r"needs \d+ MB and the job has 100"):
        batch(**large, memory_mb=100)


def test_what_a_batch_touches_stays_in_cache_on_a_cpu():
    assert batch(hidden=64) == 2
    assert batch(hidden=64, precision="float32") == 4
    assert batch(hidden=256) == 1
    assert batch(hidden=64, device="cuda") == 5
    assert batch(hidden=64, learner="immediate") == 5
    assert batch(hidden=64, learner="immediate", most=25) == 24
    assert batch(hidden=64, learner="immediate", most=25, architecture="lstm") == 6


def test_a_job_asks_for_what_its_batch_needs():
    def asked(learner, most):
        return memory.job_mb("rnn", learner, "adam", most=most)

    needed = memory.peak_bytes("rnn", "immediate", "adam", models=24) / 1e6
    assert needed < asked("immediate", 400) < 1.2 * needed
    assert asked("immediate", 5) < asked("immediate", 400)
    assert asked("rtrl", 400) == asked("rtrl", 2)
    assert asked("of-ones-own", 5) == memory.UNKNOWN_MB
    assert batch(learner="of-ones-own", memory_mb=1) == 5
