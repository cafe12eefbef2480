"""The real Snakemake on tests/plugins: every part from outside, from streams to the page."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from running import Study

from orla import catalogue
from orla.files import load_arrays
from orla.provenance.tables import read_table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A finished run in a copy of the workflow: (results, reports)."""
    folder = tmp_path_factory.mktemp("plugins")
    run = Study(folder, ROOT / "tests/plugins/config.yaml")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests/plugins", folder / "tests/plugins", ignore=ignored)
    run.made("all")
    return folder / "results/plugins", folder / "reports/plugins"


@pytest.fixture(scope="module")
def episode():
    """The episode that the task of the plug-ins draws."""
    catalogue.use_plugins([ROOT / "tests/plugins"])
    try:
        task = {"kind": "echo", "pretraining": 800, "adapt": 400, "heldout": 200, "window": 100}
        yield catalogue.make("task", task).episode("shift", range(2))
    finally:
        catalogue.use_plugins([])


def test_each_part_leaves_its_mark_in_the_results(study, episode):
    results, _ = study
    assert episode.loss == "huber" and episode.dataset["source"] == "AR(1) signal, decay 0.5"
    np.testing.assert_array_equal(episode.adapt.Y[:, 3:], episode.adapt.X[:, :-3])

    models = read_table(results / "lr_curves.parquet")
    wanted = {
        "task": {"echo"},
        "architecture": {"mgu"},
        "learner": {"immediate", "discounted"},
        "optimizer": {"adagrad"},
        "intervention": {"none", "clip-03"},
        "start": {"damped-05"},
        "loss": {"huber"},
        "learning_rate": {0.003, 0.01, 0.03},  # the grid that Adagrad declares
    }
    for column, values in wanted.items():
        assert set(models[column]) == values, column
    assert len(models) == 2 * 2 * 3 * 2
    assert np.isfinite(models[["gradient_norm", "learned_norm", "absolute_error"]]).all(axis=None)
    clipped = models["intervention"] == "clip-03"
    assert (models["gradient_norm"] == models["learned_norm"])[~clipped].all()
    assert (models["gradient_norm"] < models["learned_norm"])[clipped].all()
    assert (models["gradient_norm"] <= 0.3 + 1e-9)[clipped].all()
    by_learner = models[~clipped].groupby("learner")["heldout_error"].apply(list)
    assert not np.allclose(by_learner["immediate"], by_learner["discounted"], rtol=1e-9)

    [gap] = read_table(results / "gaps.parquet").query("intervention == 'none'").to_dict("records")
    assert (gap["learner_full"], gap["learner_immediate"]) == ("discounted", "immediate")
    assert len(read_table(results / "gradient_norms.parquet")) == 4


def test_the_start_is_made_of_the_pretrained_network(study, episode):
    """One step of each network by hand, on half of the pretrained recurrent weights."""
    import torch
    from safetensors.numpy import load_file

    results, _ = study
    pretrained = load_file(results / "echo/pretraining/mgu/float64.safetensors")
    sweep = results / "echo/sweeps/mgu/immediate/adagrad/shift/damped-05"
    arrays, _ = load_arrays(sweep.with_name(sweep.name + ".npz"))
    for seed in range(2):
        p = {n: np.asarray(v[seed]) for n, v in pretrained.items()}
        h, errors = np.zeros(4), []
        for x, y in zip(episode.adapt.X[seed], episode.adapt.Y[seed], strict=True):
            given, halved = p["W_ih"] @ x + p["b_h"], 0.5 * p["W_hh"]
            f = 1 / (1 + np.exp(-given[:4] - halved[:4] @ h))
            h = (1 - f) * h + f * np.tanh(given[4:] + halved[4:] @ (f * h))
            output = torch.as_tensor(p["W_out"] @ h + p["b_out"])
            errors.append(float(torch.nn.HuberLoss()(output, torch.as_tensor(y))))
        windows = np.reshape(errors, (4, 100)).mean(1)
        np.testing.assert_allclose(arrays["frozen_error"][seed], windows, rtol=1e-9)


def test_the_registration_is_judged(study):
    results, _ = study
    [verdict] = read_table(results / "verdicts.parquet").to_dict("records")
    norms = read_table(results / "gradient_norms.parquet").set_index(["learner", "intervention"])
    row = norms.loc[("discounted", "clip-03")]
    assert verdict["registration"] == "clip-holds" and verdict["n"] == 2
    assert verdict["estimate"] == row["gradient_norm"]
    assert verdict["outcome"] == "supported", verdict["reason"]


def test_each_part_stands_on_the_page(study):
    _, reports = study
    page = (reports / "index.html").read_text()
    for mark in (
        "echo, 1 to 3 steps late",
        "MGU",
        "discounted RTRL",
        "Adagrad",
        "clipped to 0.3",
        "W<sub>hh</sub> times 0.5",
        "Norms of the gradients",
        "Learner&#39;s norm",
        "Gradient norm against error",
        "A clipped gradient is no longer than the clip",
        "discounted past",
    ):
        assert mark in page, mark
    assert (reports / "figure_norm_against_error.png").stat().st_size > 5000
    assert "Adagrad" in (reports / "table_gradient_norms.tex").read_text()
    assert "absolute_error" in (reports / "table_gradient_norms.csv").read_text()
