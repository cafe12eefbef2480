"""The study of test-time adaptation in vision, small, from files of images to the page."""

import pandas as pd
import pytest
import torch
from made_images import fashion_mnist
from running import ROOT, Study, merged

from orla.files import sha256
from orla.provenance import networks
from orla.provenance.tables import read_table
from orla.vision.corruptions import EXTRA, SCORED
from orla.vision.networks import network_of

NETWORK = {"depth": 10, "widen": 1, "seed": 0, "batch": 50}
RATES = {"sgd": [0.01, 0.03], "adam": [0.001, 0.003]}
GRIDS = {"bn": RATES, "lora": {"adam": RATES["adam"]}}


def small(folder):
    vision = {
        "images": fashion_mnist(folder / "images"),
        "network": NETWORK | {"epochs": 2, "learning_rate": 0.01},
        **{"scored": 20, "batch": 10, "rank": 2, "seeds": 2},
    }
    study = Study(folder / "study", ROOT / "config/vision.yaml")
    study.config = merged(study.config, {"vision": vision, "grid_growth": 0})
    study.config["vision"]["rates"] = GRIDS
    return study.changed()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = small(tmp_path_factory.mktemp("vision"))
    study.made("all")
    return study


def test_each_way_to_adapt_has_its_errors(finished):
    tta = read_table(finished.folder / "results/vision/tta.parquet")
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
    assert tta.attrs["provenance"]["config"]["images"]["sha256"]


def test_the_page_and_the_plan_know_them(finished):
    table = pd.read_csv(finished.folder / "reports/vision/table_tta.csv")
    assert len(table) == 5 and table["papers_recovery"].notna().sum() == 1
    page = (finished.folder / "reports/vision/index.html").read_text()
    assert "Test-time adaptation in vision" in page and "Fashion-MNIST" in page
    assert finished.planned("all") == []


def test_verification_walks_them(finished):
    assert finished.faults() == []
    finished.changed(vision={"network": {"epochs": 3}})
    told = finished.faults()
    assert len(told) == 6 and all("(network.epochs is 2, not 3)" in line for line in told)
    finished.changed()


def test_an_exchanged_checkpoint_is_noticed(tmp_path):
    study, result = small(tmp_path), "results/vision/vision/network.safetensors"
    state, path = network_of(NETWORK).state_dict(), study.folder / "net.pt"
    torch.save(state, path)
    study.changed(vision={"network": {"checkpoint": "net.pt"}}).made(result)
    inputs = networks.provenance(study.folder / result)["inputs"]
    assert inputs == {"../../../net.pt": sha256(path)} and study.planned(result) == []
    torch.save({name: value + 1 for name, value in state.items()}, path)
    assert study.planned(result) == ["Training the network of images"]
    assert any("made from another net.pt" in line for line in study.faults())
