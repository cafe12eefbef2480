"""The study of tabular streams, small, from River's generator to quantities and the page."""

import pandas as pd
import pytest
import yaml
from running import ROOT, Study, merged

from orla.provenance.tables import read_table

LACKING = ("random-rbf", "electricity")
PEERS = {"forest", "tree", "logistic", "no-change", "majority"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    config = yaml.safe_load((ROOT / "config/streams.yaml").read_text())
    blocks = [
        {**block, "tasks": ["hyperplane"], "probes": ["small"], "seeds": 2}
        for block in config["conditions"]
    ]
    task = {"seed": 99, "adapt": 300, "heldout": 15, "window": 15}
    changes = dict(
        tasks={"hyperplane": task | {"peers": {"forest": 1}}} | dict.fromkeys(LACKING),
        networks={"rnn": {"hidden": 4}},
        probes={"small": {"kind": "prequential", "window": 15}},
        conditions=blocks,
        quantities={"forest-random-rbf": None},
        grids={"adam": {"step": [0.003, 0.01, 0.03]}},
        grid_growth=0,
        statistics={"resamples": 100},
        registrations={"folders": []},
        compute={"compile": False},
    )
    study = Study(tmp_path_factory.mktemp("streams"), ROOT / "config/streams.yaml")
    study.config = merged(study.config, changes)
    study.changed().made("all")
    return study


def test_networks_and_rivers_models_are_put_together(finished):
    read = {
        name: read_table(finished.folder / f"results/streams/{name}.parquet")
        for name in ("heldout", "peers", "quantities", "lr_curves", "speed")
    }
    models = read["heldout"].set_index(["start", "seed"])["prequential_accuracy"]
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


def test_verification_knows_what_was_asked_of_rivers_models(finished):
    assert finished.faults() == []
    finished.changed(tasks={"hyperplane": {"peers": {"tree": 4}}})
    told = [line for line in finished.faults() if "/peers/" in line]
    assert len(told) == 5 and all("(task.peers.tree is 5, not 4)" in line for line in told)
    finished.changed()


def test_the_page_shows_them(finished):
    table = pd.read_csv(finished.folder / "reports/streams/table_streaming.csv")
    assert set(table["peer"].dropna()) == PEERS and len(table) == 2 + len(PEERS)
    assert "Tabular streams" in (finished.folder / "reports/streams/index.html").read_text()
