"""The study of swapped units, from a small recording in a folder of its user's to the page."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import yaml
from running import ROOT, Study

from orla.provenance.tables import read_table
from orla.sessions.streams import Streams

STEPS, UNITS, STEP, TAIL, COUNT, POOL = 1_000, 24, 600, 200, 6, 16
SHARES = {"swapped-25": 0.25, "swapped-50": 0.5}
PAIRS = ("swap-01", "swap-02")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A walk that units are tuned to, as an .npz in a folder outside of the project."""
    draws = np.random.default_rng(0)
    velocity = 0.1 * np.cumsum(draws.normal(size=(STEPS, 2)), axis=0)
    rates = np.exp(0.5 + velocity @ draws.normal(0.0, 0.4, (2, UNITS))).clip(0.2, 20.0)
    path = tmp_path_factory.mktemp("elsewhere") / "m1_stevenson_2011.npz"
    np.savez(path, counts=draws.poisson(rates), vel=velocity, bin_s=0.05)
    return path


@pytest.fixture(scope="module")
def study(tmp_path_factory, recorded):
    sizes = {"cut": 20, "tail_steps": TAIL, "tail_stream_steps": 100}
    small = {
        "step": STEP,
        "pool": POOL,
        "pairs": {f"swap-0{i}": None for i in range(len(PAIRS) + 1, 9)},
        "preparation": {"features": {"count": COUNT}},
        "parts": sizes,
    }
    learners = ["immediate", "tbptt-20-20"]
    made = Study(
        tmp_path_factory.mktemp("swapped"),
        ROOT / "config/swapped.yaml",
        tasks=dict.fromkeys(SHARES, small),
        pathvars={"recordings": str(recorded.parent)},
        networks={"rnn": {"hidden": 4}},
        pretraining={"max_epochs": 3},
        conditions=[
            {
                "name": "small",
                "tasks": [*SHARES],
                "networks": ["rnn"],
                "learners": learners,
                "optimizers": ["adam"],
                "splits": ["80-20"],
                "seeds": 2,
            }
        ],
        comparisons=dict.fromkeys(
            ["per_step", "per_window", "cadence_immediate", "cadence_full", "floor"]
        )
        | {"paper": {"minus": [*reversed(learners)]}},
        grid_growth=0,
        statistics={"resamples": 100},
        compute={"compile": False, "batch_models": 6},
        registrations={"folders": []},
    )
    made.config = yaml.safe_load((made.folder / "overlay.yaml").read_text())
    return made


@pytest.fixture(scope="module")
def finished(study):
    """The same, run to the page."""
    study.made("all")
    return study


@pytest.mark.full
def test_each_pair_is_a_draw_of_the_recording(finished, recorded):
    counts = np.load(recorded)["counts"]
    roots = np.sqrt(counts)
    fitted = roots[: STEP - TAIL]
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = (roots - fitted.mean(0)) / fitted.std(0)
    firsts = {}
    for task, share in SHARES.items():
        for pair in PAIRS:
            found = Streams.load(finished.folder / f"results/swapped/{task}/{pair}/streams.npz")
            units = [
                [int(np.abs(scaled[rows] - x[:, None]).max(0).argmin()) for x in stream.X.T]
                for rows, stream in ((slice(STEP), found.a), (slice(STEP, None), found.b))
            ]
            for rows, stream, held in zip(
                (slice(STEP), slice(STEP, None)), (found.a, found.b), units, strict=True
            ):
                np.testing.assert_allclose(stream.X, scaled[rows][:, held], atol=1e-9)
            assert sum(x != y for x, y in zip(*units, strict=True)) == round(share * COUNT)
            sha = hashlib.sha256(recorded.read_bytes()).hexdigest()
            assert found.dataset["files"] == {"a": sha, "b": sha}
            firsts.setdefault(pair, set()).add(tuple(units[0]))
    # A pair has one session A at both shares, and pairs have others.
    assert all(len(one) == 1 for one in firsts.values())
    assert len(set.union(*firsts.values())) == len(PAIRS)


@pytest.mark.full
def test_networks_start_alike_at_both_shares_and_only_drift_differs(finished):
    models = read_table(finished.folder / "results/swapped/lr_curves.parquet")
    keys = ["pair", "learner", "seed", "learning_rate"]
    first, second = (models[models["task"] == task].set_index(keys) for task in SHARES)
    assert len(first) == len(second) > 0
    columns = ["reference_error", "constant_error", "frozen_heldout_error"]
    reference, constant, frozen = (
        (first[column] == second[column].loc[first.index]) for column in columns
    )
    assert reference.all() and constant.all() and not frozen.any()


@pytest.mark.full
def test_page_and_provenance_say_that_the_drift_is_made(finished):
    reports = finished.folder / "reports/swapped"
    table = pd.read_csv(reports / "table_over_pairs.csv")
    assert {*table["task"]} == {*SHARES} and not table["simulated"].any()
    assert (table.groupby("task")["n_pairs"].max() == len(PAIRS)).all()
    assert "Real recording, MADE drift. " in (reports / "table_over_pairs.tex").read_text()
    assert "Spikes and movement are real, the drift is made" in (reports / "index.html").read_text()
    answer = (reports / "answer.txt").read_text()
    assert "SIMULATED" not in answer and "real recording, made drift" in answer
    heldout = read_table(finished.folder / "results/swapped/heldout.parquet")
    datasets = heldout.attrs["provenance"]["datasets"]
    assert len(datasets) == len(SHARES) * len(PAIRS)
    assert {(d["drift"], d["simulated"], d["source"]) for d in datasets.values()} == {
        ("made", False, "swapped")
    }
    drift = read_table(finished.folder / "results/swapped/drift_report.parquet")
    assert {*drift["task"]} == {*SHARES} and {*drift["pair"]} == {*PAIRS}
    finished.changed(tasks={"swapped-50": {"pairs": {"swap-02": {"share": 1.0}}}})
    jobs = finished.planned("prepared")
    finished.changed()
    assert [j for j in jobs if "Making" in j] == ["Making the streams of swapped-50/swap-02"]


def test_the_folder_of_recordings_can_be_said_on_the_command_line(study, recorded):
    study.changed(pathvars={"recordings": "recordings", "results": "results/new"})
    target = "results/new/swapped-25/swap-01/streams.npz"
    named = f"pathvars={{recordings: {recorded.parent}}}"
    status, said = study.snakemake("--dry-run", target, "--config", named)
    assert status == 0 and "Making the streams of swapped-25/swap-01" in said, said
    study.changed()
