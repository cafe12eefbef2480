"""Names, orders and cadences come from what parts declare."""

from dataclasses import replace

import pandas as pd
import pytest

from orla.reports.words import PartNames

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
def test_name(kind, slug, name):
    assert NAMES.called(kind, slug) == name


@pytest.mark.parametrize(
    ("learner", "stride"),
    [("immediate", 1), ("immediate-20", 20), ("tbptt-200-50", 50), ("short", 3), ("what-2", None)],
)
def test_stride_is_the_declared_option(learner, stride):
    assert NAMES.stride(learner) == stride


def test_order_is_declared_and_values_fall():
    learners = ["zeta", "trace-05", "immediate-200", "rtrl", "immediate", "immediate-20"]
    assert NAMES.ordered("learner", learners) == [
        "immediate",
        "immediate-20",
        "immediate-200",
        "rtrl",
        "trace-05",
        "zeta",
    ]
    assert NAMES.ordered("split", ["50-50", "stationary", "80-20"]) == [
        "80-20",
        "50-50",
        "stationary",
    ]
    assert NAMES.ordered("precision", ["float32", "float64"]) == ["float64", "float32"]


def test_titles_say_what_varies(simulated, results):
    gaps = results["gaps"]
    row = gaps.query("split == '80-20'").iloc[0].to_dict()
    assert simulated.title_of(row, gaps) == "RNN, float64, 80/20"
    several = pd.concat([gaps, gaps.assign(pair="second"), gaps.assign(start="fresh")])
    titles = {group.title for group in simulated.groups(several)}
    assert titles == {
        f"{pair}, RNN, float64, {split}{start}"
        for split in ("80/20", "50/50")
        for pair, start in (
            ("default", ", pretrained"),
            ("second", ", pretrained"),
            ("default", ", fresh"),
        )
    }


def test_the_papers_numbers_are_about_one_task(simulated):
    keys = dict(zip(("task", "architecture"), (simulated.recordings[0], "rnn"), strict=True))
    keys |= {"intervention": "none", "start": "pretrained"}
    assert simulated.paper(keys) is not None
    assert replace(simulated, papers_task=simulated.recordings[0]).paper(keys) is not None
    assert replace(simulated, papers_task="another").paper(keys) is None


def test_a_network_of_the_same_options_as_another_keeps_its_own_name(simulated):
    networks = {
        "other": {"kind": "rnn", "hidden": 64},
        "large": {"kind": "rnn", "hidden": 99},
        "steep": {"kind": "spectral_rnn", "hidden": 64},
    }
    study = replace(simulated, instances={"architecture": networks})
    assert study.called("architecture", "other") == "RNN (other)"
    assert study.called("architecture", "large") == "RNN, hidden 99"
    assert study.called("architecture", "steep") == "RNN, cond(W_hh) 50"
    assert study.called("architecture", "rnn") == "RNN"
