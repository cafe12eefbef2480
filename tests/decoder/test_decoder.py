"""A decoder that leaves its study, held to the study's own forward pass."""

import inspect
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from running import ROOT

from orla import catalogue
from orla.__main__ import main
from orla.decoder import Decoder, export
from orla.engine.forward import outputs_of
from orla.errors import OrlaError
from orla.provenance import networks
from orla.provenance.tables import read_table, write_table
from orla.sessions.streams import Streams
from orla.study import adaptation
from orla.study.adaptation import Episodes
from orla.study.config import read_plan
from orla.study.simulated import simulated_streams

CONDITION = "recordings/sweeps/rnn/immediate/adam/80-20"
# What FALCON's evaluator calls, and by which arguments.
INTERFACE = {
    "reset": ["dataset_tags"],
    "predict": ["neural_observations"],
    "observe": ["neural_observations"],
    "on_done": ["dones"],
    "set_batch_size": ["batch_size"],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The tiny study's one condition, run by the library; working folder is the study's."""
    folder, before = tmp_path_factory.mktemp("study"), os.getcwd()
    shutil.copy(ROOT / "config.yaml", folder)
    tiny = (ROOT / "config/tiny.yaml").read_text().replace("grid_growth: 1", "grid_growth: 0")
    (folder / "tiny.yaml").write_text(tiny)
    os.chdir(folder)
    plan = read_plan([folder / "tiny.yaml"])
    condition = next(c for c in plan.conditions if c.path == CONDITION)
    job, results = plan.job(condition), folder / plan.config["pathvars"]["results"]
    spec = plan.task_settings(condition.domain)
    task = catalogue.make("task", spec)
    [pair] = spec["pairs"]
    file = results / condition.domain / "streams.npz"
    file.parent.mkdir(parents=True)
    simulated_streams(task, pair).write(file, spec)
    episodes = Episodes(spec, condition.seeds, str(file))
    asked = {"network": job["network"], "name": "rnn", "precision": "float64", "seeds": 2}
    asked |= {"split": condition.split, "settings": {"max_epochs": 1}, "parts": []}
    trained, compute = results / f"{condition.networks_path}.safetensors", plan.config["compute"]
    adaptation.pretrain_networks(asked, episodes, str(trained), compute)
    path = results / condition.path
    files = str(trained), f"{path}-all.parquet", f"{path}-all.npz"
    adaptation.adapt({str(path): job}, episodes, *files, compute=compute)
    yield SimpleNamespace(
        plan=plan,
        trained=trained,
        table=f"{path}.parquet",
        streams=Streams.read(file, spec),
        write=lambda name="decoder.safetensors", *a, **k: export.write_decoder(
            plan, CONDITION, folder / name, *a, **k
        ),
    )
    os.chdir(before)


def bins_of(streams, reading):
    """The spike counts that a stream of session B was made of; other channels have none."""
    roots = (streams.b.X - reading.offset) / np.diag(reading.weights)
    counts = np.zeros((len(streams.b), len(reading.channels)))
    counts[:, reading.columns] = np.rint(roots**2)
    np.testing.assert_allclose(counts[:, reading.columns], roots**2, atol=1e-9)
    return counts


def decoded(decoder, counts):
    return np.stack([decoder.predict(row[None])[0] for row in counts])


@pytest.mark.parametrize("frozen", [True, False])
def test_predictions_are_those_of_the_study_in_the_unit_of_the_target(study, frozen):
    decoder = study.write("decoder.safetensors", 1, is_frozen=frozen)
    loaded = Decoder.load("decoder.safetensors")
    assert loaded.reading.channels == [f"M1 {i + 1:03d}" for i in range(12)]
    params = {name: p[1] for name, p in networks.load(study.trained).items()}
    same = [torch.equal(params[name], p) for name, p in loaded.params.items()]
    assert all(same) if frozen else not any(same)
    counts, target = bins_of(study.streams, loaded.reading), study.streams.readings["target"]
    x = torch.as_tensor(study.streams.b.X)
    batch = {name: p[None] for name, p in decoder.params.items()}
    [expected] = outputs_of(decoder.network, batch, None, {"x": x}).numpy()
    expected = expected * target["sd"] + target["mean"]
    np.testing.assert_allclose(decoded(loaded, counts[:99]), expected[:99], rtol=1e-6, atol=1e-6)


def test_sessions_side_by_side_have_a_state_each(study):
    study.write(is_frozen=True)
    one, two, resets = (Decoder.load("decoder.safetensors", n) for n in (1, 2, 2))
    counts = bins_of(study.streams, one.reading)
    expected = decoded(one, counts[:4])
    one.reset()
    np.testing.assert_array_equal(decoded(one, counts[:4]), expected)
    for i in (0, 2):
        outputs = two.predict(np.stack([counts[i], counts[9 - i]]))
        np.testing.assert_allclose(outputs[0], expected[i], rtol=1e-12)
        two.observe(np.stack([counts[i + 1], counts[8 - i]]))
    two.on_done(np.array([1, 0]))  # in this study the state runs through
    np.testing.assert_allclose(two.predict(counts[[4, 4]])[0], one.predict(counts[[4]])[0])
    resets.specification["resets"] = True
    for row in counts[:4]:
        resets.predict(np.stack([row, row]))
    resets.on_done(np.array([0, 1]))
    kept, anew = resets.predict(counts[[0, 0]])
    np.testing.assert_allclose(anew, expected[0], rtol=1e-12)
    assert np.abs(kept - anew).max() > 1e-6


def test_the_interface_is_that_of_falcon():
    for name, arguments in INTERFACE.items():
        assert list(inspect.signature(getattr(Decoder, name)).parameters)[1:] == arguments
    falcon = pytest.importorskip("falcon_challenge.interface")
    theirs = {n: f for n, f in vars(falcon.BCIDecoder).items() if not n.startswith("_")}
    assert {n: list(inspect.signature(f).parameters)[1:] for n, f in theirs.items()} == INTERFACE


def test_the_command_writes_a_decoder(study, capsys):
    main(["decoder", "mine.safetensors", CONDITION, "--frozen", "--configfile", "tiny.yaml"])
    assert "mine.safetensors: 12 channels to 2 outputs" in capsys.readouterr().out
    assert networks.read_provenance("mine.safetensors")["config"]["frozen"] is True
    Decoder.load("mine.safetensors")
    with pytest.raises(SystemExit):
        main(["decoder", "mine.npz", CONDITION, "--configfile", "tiny.yaml"])
    assert "mine.npz: a decoder is written as .safetensors" in capsys.readouterr().err


def test_a_decoder_is_adapted_by_the_numeric_configuration_of_its_condition(study, monkeypatch):
    plain = study.plan.config["compute"]
    asked = {"float64": plain | {"instructions": "avx1024"}}
    monkeypatch.setattr(type(study.plan), "compute_settings", lambda _, name: asked[name])
    with pytest.raises(OrlaError, match='"numerics" asks for the instruction set avx1024'):
        study.write()


def test_wrong_observations_files_seeds_and_conditions_are_refused(study):
    decoder = study.write(is_frozen=True)
    wrong = "wrong is no condition of the study"
    for call, words in (
        (lambda: decoder.predict(np.zeros((1, 6))), r"observations are \(1, 6\), not \(1, 12\)"),
        (lambda: Decoder.load(study.trained), "no decoder, but networks of a study"),
        (lambda: study.write("x", 2), "has the seeds 0 to 1, not 2"),
        (lambda: export.write_decoder(study.plan, "wrong", "x"), wrong),
    ):
        with pytest.raises(OrlaError, match=words):
            call()
    table = read_table(study.table)
    for measure, change, words in (
        ("heldout_error", lambda x: 1.01 * x, "adapting again gives a held-out error of"),
        ("diverged", lambda x: 1.0 + 0 * x, "the network of seed 0 diverged; name another"),
    ):
        rows = table["measure"] == measure
        table.loc[rows, "value"] = change(table.loc[rows, "value"])
        write_table(table, study.table, table.attrs["provenance"])
        with pytest.raises(OrlaError, match=words):
            study.write("x")
