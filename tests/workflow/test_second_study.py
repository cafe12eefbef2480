"""The second small study (second_study.yaml), worked out again by direct calls of the library.

No setting of it is a default and there are two of everything, so a rule or script that drops a
setting, or takes one thing for another, gives other numbers than these.
"""

from pathlib import Path

import made_claims
import made_mat
import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from running import Study

from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.engine.loop import Loop
from orla.interventions.match_norm import MatchNorm
from orla.learners.last_layer import LastLayer
from orla.learners.rtrl import RTRL
from orla.learners.tbptt import TBPTT, Immediate
from orla.learners.trace import Trace
from orla.losses.cross_entropy import CrossEntropy
from orla.losses.squared_error import SquaredError
from orla.optimizers.adafactor import Adafactor
from orla.optimizers.adam import Adam
from orla.optimizers.lars import LARS
from orla.optimizers.sgd import SGD
from orla.probes.cosine import PastGradient
from orla.probes.ratios import UpdateRatio
from orla.programs import compiling
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table
from orla.results import base
from orla.results.frames import result_frames
from orla.sessions import mat_read, nwb, simulator
from orla.sessions.from_spikes import prepare_sessions
from orla.sessions.preparation import Features, Preparation, Target
from orla.sessions.simulator import ArraySettings, DriftSettings, TaskSettings
from orla.study.batches import initial_parameters
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import ConditionRun
from orla.study.sweep import sweep
from orla.tasks.bytes import Bytes
from orla.tasks.episode import Episode
from orla.tasks.synthetic import Lorenz, Sine
from orla.truth import studies, verdicts, worlds

pytestmark = pytest.mark.full  # a second study from end to end

SECOND_STUDY = Path(__file__).with_name("second_study.yaml")
CONFIG = yaml.safe_load(SECOND_STUDY.read_text())
RESULTS = "results/other"
LOSSES = {"squared_error": SquaredError(), "cross_entropy": CrossEntropy()}
KEYS = ["task", "pair", "architecture", "learner", "optimizer", "precision", "split"]
KEYS += ["intervention", "start"]
SIMULATED = {
    pair: simulator.Settings(
        TaskSettings(duration_a_s=41.0, duration_b_s=33.0, start_s=7.0),
        ArraySettings(n_channels=14, sorted_shares=(0.0, 0.5, 0.5), unit_hz=12.0),
        DriftSettings(scale=0.7, turnover=0.2),
        seed=seed,
    )
    for pair, seed in (("first", 3), ("second", 5))
}
PREPARATION = Preparation(0.04, "sorted", "none", Features("pca", 5), Target("finger", 0.12))
PRETRAINING = Pretraining(0.01, 20, 0.2, 3, 2, "rmsprop", ("b_out",))


def claim(study):
    """A registration about the gap over seeds of one of two pairs, in a folder of its own."""
    document = made_claims.seed_document(
        studies=[study.config["name"]],
        **{"task": "hands", "pair": "first", "estimand": "heldout", "comparison": "blocks"},
        **{"minus": ["tbptt-100-100", "immediate"], "sample": {"seeds": 3}, "scale": "pp"},
        **{"claim": {"equivalent_within": 200}, "margin_reason": "It is of made-up hands."},
        **{"alpha": 0.1, "results_seen": made_claims.DOCUMENT["results_seen"]},
    )
    where = {"architecture": "small", "precision": "float32", "split": "70-30"}
    document["conditions"] = where | {"optimizer": "adam"}
    path = study.folder / "claims" / "small-gap.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    study.registered(path)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    study = Study(folder, SECOND_STUDY, registrations={"folders": ["prereg", "claims"]})
    claim(study)
    study.made("all")
    return study.folder / RESULTS


@pytest.fixture(scope="module")
def models(results):
    return read_table(results / "lr_curves.parquet")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Both sessions of both pairs, simulated and brought to NWB by hand: {pair: (A, B)}."""
    folder, found = tmp_path_factory.mktemp("sessions"), {}
    for pair, settings in SIMULATED.items():
        paths = [folder / f"{pair}_{day}.mat" for day in "ab"]
        made_mat.simulate(*paths, settings)
        for path in paths:
            nwb.write_session(mat_read.read_session(path), path.with_suffix(".nwb"))
        found[pair] = tuple(nwb.read_session(path.with_suffix(".nwb")) for path in paths)
    return found


@pytest.fixture(scope="module")
def streams(sessions):
    return {
        pair: prepare_sessions(*days, PREPARATION, tail_steps=0.3, dataset={})
        for pair, days in sessions.items()
    }


@pytest.fixture(scope="module")
def episodes(streams):
    """Every episode of the study, cut by hand or drawn by its task."""
    found = {}
    for pair, both in streams.items():
        a, b = both.a, both.b
        tail = len(a) - int(0.3 * len(a))
        adapt = int(0.7 * len(b)) // 100 * 100
        found[f"hands/{pair}/episodes/70-30"] = Episode(
            pretraining=a.slice_steps(slice(0, tail)),
            adapt=b.slice_steps(slice(0, adapt)),
            heldout=b.slice_steps(slice(adapt, None)),
            selection_cut=int(0.6 * adapt) // 100 * 100,
            reference=a.slice_steps(slice(tail, None)),
            reference_from=160,
            window=100,
            n_out=2,
        )
    lengths = {"pretraining": 280, "adapt": 80, "heldout": 40, "window": 40}
    wave = Sine(300, 100, 50, 50, frequency=0.04, shifted=0.11, ahead=2, noise=0.1)
    chaos = Lorenz(**lengths, rho=26.0, shifted=40.0, dt=0.04)
    text = Bytes(**lengths, first="code", second="prose", vocabulary="letters")
    found["wave/episodes/shift"] = wave.episode("shift", range(3))
    found["chaos/episodes/shift"] = chaos.episode("shift", range(2))
    found["text/episodes/stationary"] = text.episode("stationary", range(2))
    return found


def pretrained(episode, architecture, seeds, dtype, settings=PRETRAINING):
    given = architecture, episode.pretraining, range(seeds), settings, LOSSES[episode.loss], dtype
    return pretrain(*given, batch_models=4)


def conditions():
    """Some conditions by path: their episode, loop, first rates, and more for a sweep."""
    hand, wave, chaos, text = RNN(3, 5, 2), RNN(3, 1, 1), LSTM(2, 3, 3), LSTM(2, 29, 29)
    blocks = TBPTT(hand, window=100, update_every=100)
    updates, squared = {"probes": (UpdateRatio(),), "segment": 100}, SquaredError()
    watched = {"observers": {"rtrl": RTRL(wave)}, "segment": 50}
    watched["probes"] = (UpdateRatio(), PastGradient(full="rtrl"))
    matched = watched | {"interventions": (MatchNorm("rtrl"),)}
    trace, steps = Trace(wave, decay=0.5), Immediate(text, window=40)
    horizons = {"horizons": [200, 300]}
    return {
        "hands/second/sweeps/small/tbptt-100-100/adam/70-30/float32": (
            "hands/second", Loop(blocks, Adam(), squared, **updates), [0.003, 0.01], horizons
        ),
        "hands/first/sweeps/small/immediate/adam/70-30/float32": (
            "hands/first", Loop(Immediate(hand), Adam(), squared, **updates), [0.001, 0.003],
            horizons,
        ),
        "wave/sweeps/small/trace-05/sgd/shift/matched": (
            "wave", Loop(trace, SGD(), squared, **matched), [0.01, 0.03], {}
        ),
        "wave/sweeps/small/immediate/sgd/shift": (
            "wave", Loop(Immediate(wave), SGD(), squared, **watched), [0.01, 0.03], {}
        ),
        "wave/sweeps/small/last-layer/sgd/shift": (
            "wave", Loop(LastLayer(wave), SGD(), squared, segment=50), [0.01, 0.03], {}
        ),
        "chaos/sweeps/gated/rtrl/lars/shift/fresh": (
            "chaos", Loop(RTRL(chaos), LARS(), squared, segment=40), [0.01], {}
        ),
        "text/sweeps/gated/immediate-40/adafactor/stationary": (
            "text", Loop(steps, Adafactor(), CrossEntropy(), segment=40), [0.003, 0.01], {}
        ),
    }  # fmt: skip


SEEDS = {"hands": 3, "wave": 3, "chaos": 2, "text": 2}


@pytest.mark.parametrize("path", conditions())
def test_a_sweep_is_that_of_the_librarys_own_objects(results, episodes, path):
    domain, loop, rates, options = conditions()[path]
    theirs = read_table(results / f"{path}.parquet")
    arrays, _ = read_arrays(results / f"{path}.npz")
    [episode] = [e for name, e in episodes.items() if name.startswith(domain)]
    seeds = 2 if "last-layer" in path else SEEDS[domain.partition("/")[0]]
    dtype = torch.float32 if path.endswith("float32") else torch.float64
    network = loop.learner.architecture
    if path.endswith("fresh"):
        params = initial_parameters(network, range(seeds), dtype)
    else:
        params, _ = pretrained(episode, network, seeds, dtype)
    task, _, pair = domain.partition("/")
    _, architecture, learner, optimizer, split, *more = path.removeprefix(f"{domain}/").split("/")
    keys = {"task": task, "pair": pair, "architecture": architecture, "learner": learner}
    keys |= {"optimizer": optimizer, "precision": "float32" if "float32" in more else "float64"}
    keys |= {"split": split, "intervention": "matched" if "matched" in more else "none"}
    keys |= {"start": "fresh" if "fresh" in more else "pretrained"}
    run = ConditionRun(keys, params, episode, loop, batch_models=4)
    ours = sweep(run, rates, growth=2, stable_windows=3, **options)
    pd.testing.assert_frame_equal(theirs, ours.table, rtol=1e-9, check_categorical=False)
    assert arrays.keys() == ours.traces.keys()
    for name, values in ours.traces.items():
        np.testing.assert_allclose(arrays[name], values, rtol=1e-9)


@pytest.fixture(scope="module")
def wide(results):
    """The tables of models, by direct calls of the library."""
    names = [f"{name}/adam/70-30/float32" for name in ("immediate", "tbptt-100-100")]
    hands = [f"hands/{pair}/sweeps/small/{name}" for name in names for pair in ("first", "second")]
    names = [f"{name}/sgd/shift" for name in ("immediate", "trace-05")]
    wave = [f"wave/sweeps/small/{name}{end}" for name in names for end in ("", "/matched")]
    paths = [*hands, *wave, "wave/sweeps/small/last-layer/sgd/shift"]
    paths += [f"chaos/sweeps/gated/{name}/lars/shift/fresh" for name in ("rtrl", "immediate")]
    paths.append("text/sweeps/gated/immediate-40/adafactor/stationary")
    tables = [read_table(results / f"{path}.parquet") for path in paths]
    traces = [read_arrays(results / f"{path}.npz")[0] for path in paths]
    return result_frames(tables, traces, ["rtrl"])


def test_the_tables_of_models_are_those_of_the_conditions_in_their_order(results, wide):
    for name, expected in wide.items():
        made = read_table(results / f"{name}.parquet")
        pd.testing.assert_frame_equal(made, expected.reset_index(drop=True))
    on_test = wide["lr_curves"].query("selected_on_test")["learning_rate"].to_numpy()
    assert (wide["heldout"]["learning_rate"].to_numpy() != on_test).any()


SETTINGS = base.Settings(
    margin_pp=40.0,
    margin_variance=0.3,
    alpha=0.1,
    resamples=150,
    seed=9,
    comparisons={
        "blocks": base.Comparison("blocks − steps", "tbptt-100-100", "immediate"),
        "traces": base.Comparison("without trace − with trace", "immediate", "trace-05"),
        "exact": base.Comparison("exact − immediate", "rtrl", "immediate"),
    },
    main="blocks",
)


def statistics(wide, settings):
    found = wide | {"models": wide["lr_curves"]}
    for name in base.dependency_order():
        found[name] = base.build(name, found, settings)
    return {name: found[name].reset_index(drop=True) for name in base.dependency_order()}


def test_the_statistics_are_those_of_the_settings(results, wide):
    for name, expected in statistics(wide, SETTINGS).items():
        made = read_table(results / f"{name}.parquet")
        pd.testing.assert_frame_equal(made, expected, check_dtype=False, obj=name)


def recoveries(models, pair, learner):
    rows = models[(models["task"] == "hands") & (models["pair"] == pair) & models["selected"]]
    return rows[rows["learner"] == learner].set_index("seed").sort_index()


def test_the_verdict_is_about_the_pair_that_it_names(results, models):
    full, immediate = (recoveries(models, "first", n) for n in ("tbptt-100-100", "immediate"))
    gap = full["recovery_heldout_percent"] - immediate["recovery_heldout_percent"]
    # The claims of the other folder are for the default study.
    [row] = read_table(results / "verdicts.parquet").to_dict("records")
    assert (row["registration"], row["n"]) == ("small-gap", 3)
    assert row["estimate"] == pytest.approx(gap.mean())
    assert row["outcome"] == "untestable" and "is not shown to adapt" in row["reason"]


def test_truth_controls_are_those_of_the_library(results):
    given = CONFIG["truth"]
    compiling.configure(compile=False, threads=1, device="cpu")
    expected = studies.simulate_models(
        "no-drift", [0, 1], given["pairs"], given["seeds"], given["steps"]
    )
    made = {world: read_table(results / f"truth/{world}.parquet") for world in worlds.WORLDS}
    pd.testing.assert_frame_equal(made["no-drift"], expected, check_dtype=False)
    settings = base.Settings(
        margin_pp=CONFIG["statistics"]["margin_pp"],
        alpha=CONFIG["statistics"]["alpha"],
        resamples=given["resamples"],
        seed=CONFIG["statistics"]["seed"],
    )
    controls = read_table(results / "truth_controls.parquet")
    counted = verdicts.control_table(made, given["seeds"], settings)
    pd.testing.assert_frame_equal(controls, counted, check_dtype=False)
    assert list(controls["world"]) == list(worlds.CONTROLS)
    planted = controls.set_index("world").loc[["planted-0", "planted-1", "planted-2"], "margins"]
    assert planted.tolist() == [0.0, 1.0, 2.0]
    assert (controls[["right", "wrong", "undecided"]].sum(axis=1) == given["studies"]).all()
