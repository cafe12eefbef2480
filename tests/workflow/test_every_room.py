"""The real Snakemake on all but recordings: plug-ins, River's streams, images, language models.

One study asks for all of it, from streams and files to the page: of tests/plugins/config.yaml as it
is, and of config/streams.yaml, vision.yaml and language.yaml as little as will do.
"""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from made_images import fashion_mnist
from running import ROOT, Study, merged
from safetensors.numpy import load_file

from orla import catalogue
from orla.__main__ import main
from orla.files import load_arrays_and_names, sha256
from orla.provenance import networks
from orla.provenance.tables import read_table
from orla.vision.corruptions import EXTRA, SCORED
from orla.vision.networks import build_network

pytestmark = pytest.mark.full  # a study of a minute and a half

PLUGINS = ROOT / "tests/plugins"
ECHO = {"pretraining": 400, "adapt": 200, "heldout": 100, "window": 50}
PEERS = {"forest": 1, "tree": 2, "logistic": 2, "no-change": 2, "majority": 2}
NETWORK = {"depth": 10, "widen": 1, "seed": 0, "batch": 50}
RATES = {"sgd": [0.01, 0.03], "adam": [0.001, 0.003]}
GRIDS = {"bn": RATES, "lora": {"adam": RATES["adam"]}}
MAMBA = {"model_type": "mamba", "hidden_size": 8, "num_hidden_layers": 2, "state_size": 4}
LANGUAGE = {
    "models": {"gpt2": None, "rwkv": None, "mamba": {"make": MAMBA}},
    "pretraining": {"steps": 2, "batch": 2, "window": 8, "vocabulary": 270},
    "tokens": 80,
    "choosing": 20,
    "bin": 10,
    "seeds": 2,
    "adapters": [{"rank": 2, "learners": ["immediate", "tbptt-64"], "optimizers": ["adam"]}],
}


def given(name):
    return yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())


def streams():
    """What the study of streams asks for, of one stream and small."""
    config = given("streams")
    stream = {"seed": 99, "adapt": 300, "heldout": 15, "window": 15, "peers": PEERS}
    small = {"tasks": ["hyperplane"], "probes": ["small"], "seeds": 2}
    del config["quantities"]["forest-random-rbf"]
    return {
        "tasks": {"hyperplane": config["tasks"]["hyperplane"] | stream},
        "networks": {"rnn": {"kind": "rnn", "hidden": 4}},
        "probes": {"small": {"kind": "prequential", "window": 15}},
        "interventions": config["interventions"],
        "conditions": [block | small for block in config["conditions"]],
        "quantities": config["quantities"],
        "grids": {"adam": {"step": [0.003, 0.01, 0.03], "window": [0.01, 0.03]}},
    }


def vision(folder):
    """What the study of vision asks for, of made-up images."""
    small = {
        "images": fashion_mnist(folder),
        "network": NETWORK | {"epochs": 2, "learning_rate": 0.01},
        **{"scored": 20, "batch": 10, "rank": 2, "seeds": 2, "rates": GRIDS},
    }
    return {"vision": given("vision")["vision"] | small}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The finished run, in a copy of the workflow."""
    folder = tmp_path_factory.mktemp("rooms")
    study = Study(folder / "study", PLUGINS / "config.yaml")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PLUGINS, study.folder / "tests/plugins", ignore=ignored)
    language = {"language": merged(given("language")["language"], LANGUAGE)}
    more = merged(streams(), vision(folder / "images") | language)
    more["conditions"] = study.config["conditions"] + more["conditions"]
    more |= {"pretraining": {"max_epochs": 1}, "tasks": more["tasks"] | {"echo": ECHO}}
    study.config = merged(study.config, more)
    study.changed().registered(study.folder / "tests/plugins/claims/clip-shortens.yaml")
    study.made("all")
    return study


@pytest.fixture(scope="module")
def results(study):
    return study.folder / "results/plugins"


@pytest.fixture(scope="module")
def reports(study):
    return study.folder / "reports/plugins"


@pytest.fixture(scope="module")
def episode():
    """The episode that the task of the plug-ins draws."""
    catalogue.use_plugins([PLUGINS])
    try:
        yield catalogue.make("task", {"kind": "echo", **ECHO}).episode("shift", range(3))
    finally:
        catalogue.use_plugins([])


def test_each_plug_in_leaves_its_mark_in_the_results(results, episode):
    assert episode.loss == "huber" and episode.dataset["source"] == "AR(1) signal, decay 0.5"
    np.testing.assert_array_equal(episode.adapt.Y[:, 3:], episode.adapt.X[:, :-3])

    models = read_table(results / "lr_curves.parquet").query("task == 'echo'")
    wanted = {
        "architecture": {"mgu"},
        "learner": {"immediate", "discounted"},
        "optimizer": {"adagrad"},
        "intervention": {"none", "clip-03"},
        "start": {"damped-05"},
        "loss": {"huber"},
        "learning_rate": {0.01, 0.03, 0.1, 0.3, 1.0},  # the grid that Adagrad declares
    }
    for column, values in wanted.items():
        assert set(models[column]) == values, column
    assert len(models) == 2 * 2 * 5 * 3
    assert np.isfinite(models[["gradient_norm", "learned_norm", "absolute_error"]]).all(axis=None)
    clipped = models["intervention"] == "clip-03"
    assert (models["gradient_norm"] == models["learned_norm"])[~clipped].all()
    assert (models["gradient_norm"] < models["learned_norm"])[clipped].all()
    assert (models["gradient_norm"] <= 0.3 + 1e-9)[clipped].all()
    by_learner = models[~clipped].groupby("learner")["heldout_error"].apply(list)
    assert not np.allclose(by_learner["immediate"], by_learner["discounted"], rtol=1e-9)

    [gap] = read_table(results / "gaps.parquet").query("intervention == 'none'").to_dict("records")
    assert (gap["learner_full"], gap["learner_immediate"]) == ("discounted", "immediate")
    assert len(read_table(results / "gradient_norms.parquet").query("task == 'echo'")) == 4


def test_provenance_names_the_plug_ins(results, capsys):
    main(["provenance", str(results / "echo/sweeps/mgu/immediate/adagrad/shift/damped-05.parquet")])
    first, *_ = capsys.readouterr().out.splitlines()
    assert all(f"plug-in plugins/{name}.py" in first for name in ("adagrad", "damped", "mgu"))


def test_the_start_is_made_of_the_pretrained_network(results, episode):
    """One step of each network by hand, on half of the pretrained recurrent weights."""
    pretrained = load_file(results / "echo/pretraining/mgu/float64.safetensors")
    sweep = results / "echo/sweeps/mgu/immediate/adagrad/shift/damped-05"
    arrays, _ = load_arrays_and_names(sweep.with_name(sweep.name + ".npz"))
    for seed in range(3):
        p = {n: np.asarray(v[seed]) for n, v in pretrained.items()}
        h, errors = np.zeros(4), []
        for x, y in zip(episode.adapt.X[seed], episode.adapt.Y[seed], strict=True):
            drive, halved = p["W_ih"] @ x + p["b_h"], 0.5 * p["W_hh"]
            f = 1 / (1 + np.exp(-drive[:4] - halved[:4] @ h))
            h = (1 - f) * h + f * np.tanh(drive[4:] + halved[4:] @ (f * h))
            output = torch.as_tensor(p["W_out"] @ h + p["b_out"])
            errors.append(float(torch.nn.HuberLoss()(output, torch.as_tensor(y))))
        windows = np.reshape(errors, (4, 50)).mean(1)
        np.testing.assert_allclose(arrays["frozen_error"][seed], windows, rtol=1e-9)


def test_the_registration_is_judged(results):
    [verdict] = read_table(results / "verdicts.parquet").to_dict("records")
    norms = read_table(results / "gradient_norms.parquet").set_index(["learner", "intervention"])
    row = norms.loc[("discounted", "clip-03")]
    assert verdict["registration"] == "clip-shortens" and verdict["n"] == 3
    assert verdict["estimate"] == pytest.approx(row["learned_norm"] - row["gradient_norm"])
    assert verdict["outcome"] == "supported", verdict["reason"]


def test_quantities_compare_networks_with_river_models_seed_by_seed(results):
    read = {
        name: read_table(results / f"{name}.parquet")
        for name in ("heldout", "peers", "quantities", "lr_curves", "speed")
    }
    models = read["heldout"].query("task == 'hyperplane'").set_index(["start", "seed"])
    models = models["prequential_accuracy"]
    peers = read["peers"].drop_duplicates(["peer", "seed"]).set_index(["peer", "seed"])
    values = read["quantities"].set_index("quantity")
    forest = peers["prequential_accuracy"]["forest"]
    assert values["n_seeds"]["forest-hyperplane"] == len(forest) == 1
    assert values["value"]["forest-hyperplane"] == pytest.approx(models["fresh", 0] - forest[0])
    gap = (models["fresh"] - models["without-recurrence"]).mean()
    assert values["value"]["recurrence-hyperplane"] == pytest.approx(gap)
    assert not values["guards"].str.contains("rates, fewer").any()
    assert "forest_accuracy" not in read["lr_curves"]
    assert (read["speed"]["us"].dropna() >= 0).all() and len(read["speed"]) == 2 + len(PEERS)
    assert read["peers"].attrs["provenance"]["versions"]["river"]


def test_each_way_to_adapt_to_images_has_its_errors(results):
    tta = read_table(results / "tta.parquet")
    errors = tta[tta["measure"] == "error"]
    ways = {("none", "-"), ("statistics", "-"), *((a, o) for a in GRIDS for o in GRIDS[a])}
    assert set(zip(errors["adapts"], errors["optimizer"], strict=True)) == ways
    scored = errors[~errors["tuning"] & (errors["corruption"] != "clean")]
    assert set(scored["corruption"]) == {*SCORED} and set(scored["seed"]) == {0, 1}
    assert len(scored) == len(ways) * len(SCORED) * 2
    tuned = errors[errors["tuning"]]
    assert set(tuned["corruption"]) == {*EXTRA} and set(tuned["seed"]) == {0}
    for way, group in tuned.groupby(["adapts", "optimizer"]):
        means = group.groupby("learning_rate")["value"].mean()
        same = (scored["adapts"] == way[0]) & (scored["optimizer"] == way[1])
        [rate] = scored[same]["learning_rate"].unique()
        assert sorted(means.index) == RATES[way[1]] and means[rate] == means.min()
    provenance = tta.attrs["provenance"]
    assert provenance["config"]["images"]["sha256"]
    assert "Fashion-MNIST" in provenance["datasets"]["vision"]["label"]


def test_language_models_have_their_losses(results):
    losses = read_table(results / "language.parquet")
    assert losses.attrs["provenance"]["versions"]["peft"]
    assert len(losses) == 2 * 2 * 2 * 8 and losses["heldout"].notna().sum() == 2 * 2 * 2
    assert {p.parent.name for p in results.rglob("model.safetensors")} == {"pretrained"}


def test_all_of_it_stands_on_the_page_and_in_the_tables(reports):
    page = (reports / "index.html").read_text()
    for mark in (
        *("echo, 1 to 3 steps late", "MGU", "discounted RTRL", "Adagrad", "clipped to 0.3"),
        *("W<sub>hh</sub> times 0.5", "Norms of the gradients", "Learner&#39;s norm"),
        *("Gradient norm against error", "A clipped gradient is shorter than the"),
        *(
            "discounted past",
            "Tabular streams",
            "Language models",
            "Test-time adaptation in vision",
        ),
    ):
        assert mark in page, mark
    assert (reports / "figure_norm_against_error.png").stat().st_size > 5000
    assert "Adagrad" in (reports / "table_gradient_norms.tex").read_text()
    read = {
        name: pd.read_csv(reports / f"table_{name}.csv")
        for name in ("gradient_norms", "streaming", "tta", "lora", "lora_norms")
    }
    assert "absolute_error" in read["gradient_norms"]
    assert set(read["streaming"]["peer"].dropna()) == {*PEERS}
    assert len(read["streaming"]) == 2 + len(PEERS)
    assert len(read["tta"]) == 5 and read["tta"]["papers_recovery"].notna().sum() == 1
    assert {"mamba"} == set(read["lora"]["model"].dropna()) and "paper" not in read["lora"]
    assert read["lora"]["what"].str.contains("Qwen2").any()
    layers = read["lora_norms"]["layer"].str.rpartition(".")[2]
    assert set(layers) == {"in_proj", "x_proj", "dt_proj"}


def test_nothing_is_left_to_run_and_every_result_of_other_settings_is_named(study):
    assert study.planned() == []
    asked = {
        "tasks": {"hyperplane": {"peers": {"tree": 4}}},
        "vision": {"network": {"epochs": 3}},
        "language": {"tokens": 160},
    }
    told = study.changed(**asked).faults()
    study.changed()
    for count, words in (
        (2, "(task.peers.tree is 2, not 4)"),
        (6, "(network.epochs is 2, not 3)"),
        (2, "(settings.tokens is 80, not 160)"),
    ):
        assert sum(words in line for line in told) == count, told
    assert len(told) == 10, told


def test_replaced_images_and_optimizers_of_adapters_make_their_results_anew(study):
    image = next((study.folder.parent / "images").iterdir())
    times, content = image.stat(), image.read_bytes()
    image.write_bytes(content + b"more")
    jobs = study.planned()
    assert "Training the network of images" in jobs
    assert sum("Adapting to corrupted images" in job for job in jobs) > 1
    image.write_bytes(content)
    os.utime(image, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert study.planned() == []
    jobs = study.changed(vision={"rates": {"bn": {"sgd": [0.01, 0.03, 0.1]}}}).planned()
    assert [job for job in jobs if "corrupted" in job] == ["Adapting to corrupted images: bn, sgd"]
    jobs = study.changed(tasks={"hyperplane": {"peers": {"forest": 0}}}).planned()
    assert sum(job.startswith("River's models") for job in jobs) == 2
    assert not [job for job in jobs if job.startswith("Adapting")]
    study.changed()
    language = read_table(study.folder / "results/plugins/language.parquet").attrs["provenance"]
    assert any(name.startswith("orla/optimizers/") for name in language["code"]["files"])


def test_an_exchanged_checkpoint_is_noticed(study):
    """Of images, in results of its own; and of language, which the tests before have read."""
    result = "results/given/vision/network.safetensors"
    state, path = build_network(NETWORK).state_dict(), study.folder / "net.pt"
    torch.save(state, path)
    own = {
        "vision": {"network": {"checkpoint": "net.pt"}},
        "pathvars": {"results": "results/given"},
    }
    study.changed(**own).made(result)
    inputs = networks.read_provenance(study.folder / result)["inputs"]
    assert inputs == {"../../../net.pt": sha256(path)}
    torch.save({name: value + 1 for name, value in state.items()}, path)
    assert study.planned(result) == ["Training the network of images"]
    assert any("made from another net.pt" in line for line in study.faults())

    study.changed()
    weights = study.folder / "results/plugins/language/mamba/pretrained/model.safetensors"
    held = bytearray(weights.read_bytes())
    held[-1] ^= 1
    weights.write_bytes(held)
    told = study.faults()
    assert len(told) == 2 and all("made from another" in line for line in told), told
