"""Names, orders and cadences come from what parts declare."""

from dataclasses import replace

import pandas as pd
import pytest

from orla.reports.study import StudyFacts
from orla.reports.words import PartNames
from orla.study.config import read_plan
from tests.running import ROOT

NAMES = PartNames(instances={
    "learner": {"trace-05": {"kind": "trace", "decay": 0.5}, "short": {"kind": "tbptt", "window": 9,
                                                                      "update_every": 3}},
    "optimizer": {"still": {"kind": "adam", "beta1": 0.0}},
    "architecture": {"rnn-128": {"kind": "rnn", "hidden": 128}, "rnn": {"kind": "rnn"},
                     "deep": {"kind": "stack", "layers": ["rnn", {"kind": "lstm", "hidden": 32}]}},
})  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "slug", "name"),
    [
        ("learner", "immediate", "immediate, per step"),
        ("learner", "immediate-20", "immediate, per 20 steps"),
        ("learner", "tbptt-200-50", "TBPTT-200, per 50 steps"),
        ("learner", "tbptt-4-1", "TBPTT-4, per step"),
        ("learner", "last-layer", "last layer, per step"),
        ("learner", "trace", "trace, per step"),
        ("learner", "trace-05", "trace, decay 0.5, per step"),
        ("learner", "short", "TBPTT-9, per 3 steps"),
        ("learner", "unheard-of", "unheard-of"),
        ("architecture", "rnn", "RNN"),
        ("architecture", "rnn-128", "RNN, hidden 128"),
        ("architecture", "deep", "stack RNN + LSTM (hidden 32)"),
        ("optimizer", "lars", "LARS"),
        ("optimizer", "still", "Adam, β1 0"),
        ("split", "80-20", "80/20"),
        ("split", "stationary", "stationary"),
        ("precision", "float64", "float64"),
    ],
)
def test_display_names_of_parts_have_their_options_and_cadence(kind, slug, name):
    assert NAMES.called(kind, slug) == name


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("learner", ["immediate", "immediate-20", "immediate-200", "rtrl", "trace-05", "zeta"]),
        ("split", ["80-20", "50-50", "stationary"]),
        ("precision", ["float64", "float32"]),
    ],
)
def test_names_sort_in_declared_order_then_by_decreasing_number(kind, names):
    assert NAMES.sort_names(kind, sorted(names)) == NAMES.sort_names(kind, names[::-1]) == names


def test_titles_say_what_varies(simulated, few):
    gaps = few["gaps"]
    assert simulated.condition_title(gaps.iloc[0].to_dict(), gaps) == "RNN, float64, 80/20"
    several = pd.concat([gaps, gaps.assign(pair="second"), gaps.assign(start="fresh")])
    assert {group.title for group in simulated.groups(several)} == {
        "default, RNN, float64, 80/20, pretrained",
        "second, RNN, float64, 80/20, pretrained",
        "default, RNN, float64, 80/20, fresh",
    }


def test_paper_results_apply_to_the_papers_task_and_pair_alone(simulated):
    [task] = simulated.recordings
    keys = {"architecture": "rnn", "intervention": "none", "start": "pretrained"}
    keys |= {"task": task, "pair": "default"}
    for name in ("task", "pair"):
        for papers, fits in (("", True), (keys[name], True), ("another", False)):
            study = replace(simulated, **{f"papers_{name}": papers})
            assert (study.applicable_paper(keys) is not None) == fits


def test_a_network_of_the_same_options_as_another_keeps_its_own_name(simulated):
    networks = {
        "other": {"kind": "rnn", "hidden": 64},
        "large": {"kind": "rnn", "hidden": 99},
        "steep": {"kind": "spectral_rnn", "hidden": 64},
    }
    study = replace(simulated, instances={"architecture": networks})
    names = {name: study.called("architecture", name) for name in ("rnn", *networks)}
    assert [*names.values()] == ["RNN", "RNN (other)", "RNN, hidden 99", "RNN, cond(W_hh) 50"]
    decays = {"a": 0.5, "b": 0.5, "c": 0.9}
    traces = {name: {"kind": "trace", "decay": decay} for name, decay in decays.items()}
    study = replace(simulated, instances={"learner": traces})
    names = [study.called("learner", name) for name in traces]
    assert ["(a)" in names[0], "(b)" in names[1], "(c)" in names[2]] == [True, True, False]


@pytest.mark.parametrize(
    ("overlays", "papers"),
    [
        ([], ("recordings", "indy")),
        (["pretraining"], ("recordings", "indy")),  # whose questions are about other arrays
        (["structure"], ("structure-arrays", "")),  # which stand for the paper's pair
    ],
)
def test_the_papers_task_and_pair_are_recognised_by_their_sessions(overlays, papers):
    plan = read_plan([ROOT / f"config/{name}.yaml" for name in overlays])
    places = {"/".join((c.task, c.pair, c.split)) for c in plan.conditions}
    datasets = {place: {"source": "simulated", "label": "made"} for place in places}
    study = StudyFacts.from_config(plan.config, {"datasets": datasets})
    assert (study.papers_task, study.papers_pair) == papers
    study = StudyFacts.from_config(plan.config, {"datasets": {}})
    assert study.papers_task == plan.config["conditions"][0]["tasks"][0]
    assert study.papers_pair == ""


def test_the_papers_task_and_pair_come_first_and_pairs_by_their_numbers(simulated):
    study = replace(simulated, papers_task="recordings", papers_pair="indy")
    pairs = ["array-10", "array-2", "indy", "array-01", "7"]
    assert study.sort_names("pair", pairs) == ["indy", "7", "array-01", "array-2", "array-10"]
    assert study.sort_names("task", ["arrays", "sine", "recordings"])[0] == "recordings"
    assert study.sort_names("split", ["50-50", "80-20"]) == ["80-20", "50-50"]
