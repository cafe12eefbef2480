"""The table and the figure of tabular streams, of made-up results."""

import numpy as np
import pandas as pd
from drawing import assert_readable, draw, series
from report_results import build

from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.tables.others import river_comparison_sentences
from orla.study.keys import KEYS

STUDY = StudyFacts(
    name="streams",
    instances={"intervention": {"hold-recurrence": {"kind": "hold"}}},
    tasks={"hyperplane": {"kind": "river", "drifts": [2000]}, "rbf": {"kind": "river"}},
)
BASE = dict(zip(KEYS, ("", "", "rnn", "immediate", "adam", "float64", "stream"), strict=False))
CONDITIONS = [
    BASE | {"task": task, "intervention": intervention, "start": start}
    for task in ("hyperplane", "rbf")
    for intervention, start in (("none", "fresh"), ("hold-recurrence", "without-recurrence"))
]


def results():
    scores = {"measure": "prequential_accuracy", "mean": 92.0, "n_seeds": 5, "n_diverged": 0}
    scores |= {"t95_low": 91.0, "t95_high": 93.0}
    measured = pd.DataFrame([keys | scores for keys in CONDITIONS])
    other = measured.assign(measure="heldout_error", mean=0.2)
    index = np.arange(4)
    windows = {"quantity": "accuracy", "seed": 0, "index": index, "value": 90.0 + index}
    profile = pd.concat(pd.DataFrame(keys | windows) for keys in CONDITIONS)
    peers = pd.concat(
        pd.DataFrame({"task": task, "peer": peer, "seed": seed, "index": index})
        .assign(step=1000 * (index + 1), scored=index > 0, accuracy=80.0, bytes=2e6)
        .assign(prequential_accuracy=80.0 + seed)
        for task in ("hyperplane", "rbf")
        for peer, seeds in (("forest", 2), ("majority", 1))
        for seed in range(seeds)
    )
    speed = pd.DataFrame(
        [keys | {"us": 9.0, "bytes": 1.2e5} for keys in CONDITIONS]
        + [{"task": "hyperplane", "peer": "forest", "us": 800.0, "bytes": 2e6}]
    )
    measured = pd.concat([measured, other])
    return {"measured": measured, "profile": profile, "peers": peers, "speed": speed}


def test_streaming_table_lists_networks_and_river_models_by_task():
    table = build("streaming", results(), STUDY)
    assert [panel.title for panel in table.panels] == ["hyperplane", "rbf"]
    rows = {row[0]: row[1:] for row in table.panels[0].rows}
    network = ("92.00 [91.00,\u00a093.00]", "5", "9.0", "120 kB")
    assert rows["RNN, immediate, per step, Adam"] == network
    assert "RNN, immediate, per step, Adam, W_hh held, W_hh at zero" in rows
    forest = rows["Adaptive Random Forest"]
    assert forest[0].startswith("80.50 [") and forest[1:] == ("2", "800.0", "2.0 MB")
    assert rows["majority (the commonest class)"][:2] == ("80.00", "1")
    [note] = table.notes
    assert "0.925" in note and "0.842" in note


def test_the_opening_has_the_best_network_beside_rivers_models():
    nothing = {"power": pd.DataFrame(), "verdicts": pd.DataFrame()}
    better = results()
    held = better["measured"]["intervention"] != "none"
    of_rbf = better["measured"]["task"] == "rbf"
    better["measured"].loc[held, "mean"] = np.where(of_rbf[held], 95.0, 90.0)
    opening = Report(better | nothing, STUDY).opening
    hyperplane, rbf = opening.sentences
    peers = "Adaptive Random Forest 80.5 %, majority (the commonest class) 80.0 %."
    name = "RNN, immediate, per step, Adam"
    right = (
        f"On hyperplane, of the networks {name} is right most often, in 92.0 [91.0,\u00a093.0] %"
    )
    assert hyperplane == f"{right} of rows before it learns them; {peers}"
    assert "W_hh at zero is right most often, in 95.0" in rbf
    assert river_comparison_sentences({"peers": pd.DataFrame()}, STUDY) == []


def test_lines_follow_the_windows_and_drifts_are_marked():
    figure, caption = draw("accuracy_over_time", results(), STUDY)
    assert_readable(figure)
    drifting, other = figure.axes
    lines = {len(line.get_xdata()): line for line in drifting.lines}
    assert list(lines[4].get_xdata()) == [1000, 2000, 3000, 4000]
    assert len(drifting.lines) == len(other.lines) + 1
    assert list(lines[2].get_xdata()) == [2000, 2000]
    assert series(figure)[-2:] == ["Adaptive Random Forest", "majority (the commonest class)"]
    assert "window of 1000 rows" in caption.caption and "abrupt drifts" in caption.caption
