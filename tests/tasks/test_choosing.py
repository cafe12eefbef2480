"""The choice of the synthetic tasks' parameters: its errors, its rule, and the files it writes."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "studies/choosing"))

import choose  # noqa: E402
import measure  # noqa: E402
import published  # noqa: E402
import tables  # noqa: E402

from orla.errors import OrlaError  # noqa: E402
from orla.programs import compiling  # noqa: E402
from orla.study.pretraining import Pretraining  # noqa: E402
from orla.study.sweep import sweep  # noqa: E402

SMALL = {"kind": "sine", "window": 20, "pretraining": 400, "adapt": 60, "heldout": 20}
RATES = (0.003, 0.01)


@pytest.fixture(scope="module")
def small():
    compiling.configure(compile=False)
    network = {"kind": "rnn", "hidden": 3}
    return measure.Bench([1000, 1001], network, Pretraining(max_epochs=1), RATES, growth=0)


@pytest.fixture(scope="module")
def entries():
    return published.load()


def test_the_papers_errors_are_those_of_its_tables(entries):
    """By hand from the paper: its text on Table 19, Tables 11, 18 and 19."""
    table = published.errors(entries).set_index(["instance", "error"])
    by_hand = {
        "sine": (0.004, 0.004, 0.0007, 0.0009),
        "delayed-50": (1.25, 1.25, 0.0044, 0.0044),
        "delayed-100": (0.71, 0.71, 0.31, 0.31),
        "delayed-200": (0.69, 0.69, 0.065, 0.065),
        "delayed-500": (0.31, 0.31, 0.0079, 0.0079),
        "lorenz": (0.051, 0.051, 0.00009, 0.00009),
    }
    for instance, ends in by_hand.items():
        found = table.loc[instance].loc[["frozen", "immediate"], ["low", "high"]]
        assert tuple(found.to_numpy().ravel()) == ends
    assert len(table) == 2 * len(by_hand)
    assert table["place"].str.contains("Table|Appendix").all()


@pytest.mark.parametrize(
    "entry", [{"table": "delays", "delay_steps": 50}, {"table": "windows", "task": "x"}]
)
def test_an_entry_that_selects_not_exactly_one_of_the_papers_rows_is_refused(entry):
    with pytest.raises(OrlaError, match="rows with an error in the paper's numbers"):
        published.rows([entry])


def test_the_distance_is_in_powers_of_ten_from_the_nearer_end():
    rows = [("a", "frozen", 1.0, 2.0), ("a", "immediate", 0.1, 0.1), ("b", "frozen", 5.0, 5.0)]
    wanted = pd.DataFrame(rows, columns=["instance", "error", "low", "high"])
    found = pd.DataFrame({"instance": ["a"], "frozen": [1.5], "immediate": [10.0]})
    assert published.distance(found, wanted) == pytest.approx(2.0**2)
    assert published.distance(found.assign(frozen=0.01), wanted) == pytest.approx(2.0**2 + 2.0**2)
    assert published.distance(found.assign(frozen=20.0), wanted) == pytest.approx(1.0 + 2.0**2)
    both = pd.concat([found, found.assign(instance="b", frozen=50.0)])
    assert published.distance(both, wanted) == pytest.approx(2.0**2 + 1.0)
    assert np.isinf(published.distance(found.assign(immediate=np.inf), wanted))


def test_errors_by_length_are_those_of_the_studys_own_sweep(small):
    """Of the first 40 steps too: the adapt part of a shorter episode is the same until its end."""
    found = measure.by_length(small.study(SMALL), RATES, [40, 60]).set_index("adapt")
    models = sweep(small.study({**SMALL, "adapt": 40}), RATES, growth=0).wide_tables["models"]
    means, row = models.groupby("learning_rate")["adapt_error"].mean(), found.loc[40]
    assert row["immediate"] == pytest.approx(means.min(), rel=1e-10)
    assert row["learning_rate"] == means.idxmin()
    assert row["frozen"] == pytest.approx(models["frozen_adapt_error"].mean(), rel=1e-10)
    assert means.max() > 1.001 * means.min()
    assert found.loc[40, "frozen"] != found.loc[60, "frozen"]


def test_a_diverging_rate_is_not_chosen_and_with_no_other_the_error_is_infinite(small):
    with np.errstate(over="ignore", invalid="ignore"):
        found = [measure.by_length(small.study(SMALL), r, [60]) for r in ((1e200, 0.001), (1e200,))]
    assert found[0]["learning_rate"].tolist() == [0.001]
    assert np.isinf(found[1]["immediate"]).all()


def test_the_bench_is_that_of_the_study():
    on = measure.bench([1000])
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    assert on.network == {"kind": "rnn", "hidden": 64}
    assert list(on.rates) == config["grids"]["adam"]["step"]
    # The paper: "trained with w=1 pre-shift"; the rest as config.yaml has it.
    assert on.pretraining == Pretraining(window=1)


def test_the_nearest_candidate_is_chosen_for_all_instances_together():
    entry = {
        "instances": {"a": {"ahead": 1}, "b": {"ahead": 2}},
        "given": {"kind": "sine"},
        "tried": {"noise": [0.0, 0.1], "adapt": [400, 800]},
    }
    table = pd.DataFrame({"candidate": [0, 0, 1, 1] * 2, "adapt": [400, 800] * 4})
    table["instance"], table["distance"] = [*"aaaabbbb"], [3.0, 2.0, 1.0, 1.0] * 2
    for instance, ahead in (("a", 1), ("b", 2)):
        found = choose.nearest(table, entry)[instance]
        assert found == {"kind": "sine", "noise": 0.1, "adapt": 400, "ahead": ahead}


def _chosen(text):
    """Tasks of an overlay between its marks."""
    [block] = choose._BLOCK.findall(text)
    return yaml.safe_load(block)


def test_the_overlay_is_changed_between_its_marks_alone():
    text = (ROOT / "config/synthetic.yaml").read_text(encoding="utf-8")
    chosen = {"wave": {"kind": "sine", "frequency": 0.11}, "text": {"kind": "bytes"}}
    made = choose.overlay(text, chosen)
    assert _chosen(made) == chosen
    before, after = (yaml.safe_load(t) for t in (text, made))
    for overlay, inside in ((before, _chosen(text)), (after, chosen)):
        assert inside.items() <= overlay["tasks"].items()
        overlay["tasks"] = {n: t for n, t in overlay["tasks"].items() if n not in inside}
    assert before == after and "narrow-500" in before["tasks"]
    assert choose.overlay(made, chosen) == made
    with pytest.raises(OrlaError, match="marks of the chosen tasks are missing"):
        choose.overlay(text.replace("# end", ""), chosen)


def test_the_overlay_has_what_the_kept_candidates_say(entries):
    """The rule applied to docs/tasks/candidates.csv gives the tasks of the overlay."""
    kept = pd.read_csv(tables.DOCS / "tasks/candidates.csv")
    wanted, expected = published.errors(entries), {}
    for entry in entries:
        if "tried" not in entry:
            expected |= {n: {**entry["given"], **own} for n, own in entry["instances"].items()}
            continue
        own = kept[kept["instance"].isin(entry["instances"])]
        options = published.candidates(entry)
        assert len(own) == len(options) * len(entry["instances"]) * len(entry["tried"]["adapt"])
        for (candidate, adapt), rows in own.groupby(["candidate", "adapt"]):
            far = published.distance(rows, wanted)
            assert rows["distance"].to_numpy() == pytest.approx(far, rel=1e-3)
            assert adapt in entry["tried"]["adapt"]
            for name, value in options[candidate].items():
                same = value if isinstance(value, str) else pytest.approx(value, rel=1e-3)
                assert all(found == same for found in rows[name]), (candidate, name)
        expected |= choose.nearest(own, entry)
    text = (ROOT / "config/synthetic.yaml").read_text(encoding="utf-8")
    assert _chosen(text) == expected


def test_the_page_shows_the_tables_beside_it():
    text = tables.PAGE.read_text(encoding="utf-8")
    assert tables.page(text) == text, "run studies/choosing/tables.py"
    shown = {found[1] for found in tables._BLOCK.findall(text)}
    assert shown == {"near", "scored", "options", "tried"}
    # The control: another number is another page.
    assert text.count("| lorenz | immediate |") == 1
    assert tables.page(text.replace("| lorenz | immediate |", "| x | y |")) == text
