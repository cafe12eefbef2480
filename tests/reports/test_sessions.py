"""The drift report in words: each sentence says what its numbers say."""

import pandas as pd
import pytest

from orla.reports.tables import drift


def report(few, **changes):
    """The drift report of made-up results, in which some measures have other values and ends."""
    frame = few["drift_report"].copy()
    for measure, (value, low, high) in changes.items():
        rows = frame["measure"] == measure
        if not rows.any():
            frame.loc[len(frame)] = {**frame.iloc[0], "measure": measure, "at": "", "words": ""}
            rows = frame["measure"] == measure
        frame.loc[rows, ["value", "low", "high"]] = [value, low, high]
    return frame


@pytest.mark.parametrize(
    ("changes", "begins", "holds"),
    [
        ({}, "There is a drift: a ridge decoder fitted on first has R² 0.30 [0.25, 0.35]", ""),
        ({"loss": (0.03, 0.01, 0.05)}, "The drift is small", "a loss of +0.03 [0.01, 0.05]"),
        ({"loss": (0.01, -0.02, 0.04)}, "No drift is seen", ""),
        ({"loss": (0.1, -0.1, 0.3)}, "Whether there is a drift is unclear", ""),
        ({"made": (0.1, 0.0, 0.2)}, "There is a drift", "a part of it is of our making"),
        ({"made": (0.9, 0.8, 1.0)}, "There is a drift", "all of it may be of our making"),
        ({"constant": (0.4, 0.4, 0.4)}, "There is a drift", "it is worse than the mean"),
        ({"within_a": (0.02, 0.0, 0.1)}, "Of a drift nothing can be said", "chance is 0.01"),
        ({"within_b": (-0.01, -0.02, 0.0)}, "Of a drift nothing can be said", "clocks of second"),
        ({"within_a": (-9.0, -9.6, -8.0), "constant": (-14.0,) * 3}, "Of a drift nothing", "0.01"),
    ],
)
def test_the_drift_sentence_follows_its_measures_and_their_intervals(few, changes, begins, holds):
    [said] = drift.drift_sentences(report(few, **changes))
    said = said.replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith(begins) and holds in said
    assert ("of our making" in said) == ("made" in changes)


@pytest.mark.parametrize(
    ("spread", "days", "told"),
    [
        (1.1, (1, 2), ""),
        (100.0, (1, 2), "The target of second varies 100 times as much as that of first"),
        (1.0, (2, 1), "second was recorded before first."),
    ],
)
def test_units_and_dates_that_look_wrong_are_told(few, spread, days, told):
    frame = few["drift_report"]
    rows = [
        {**frame.iloc[0], "measure": measure, "at": side, "value": value, "words": words}
        for side, day, of_side in zip("ab", days, (1.0, spread), strict=True)
        for measure, value, words in (
            ("spread", of_side, ""),
            ("about", float("nan"), f"subject x, date 2020-01-0{day}"),
        )
    ]
    [said] = drift.drift_sentences(pd.concat([frame, pd.DataFrame(rows)]))
    said = said.replace("\N{NO-BREAK SPACE}", " ")
    assert told in said and ("in one unit?" in said or "before first" in said) == bool(told)


def test_many_pairs_are_counted_and_few_are_named(few):
    frame = report(few)
    named = [frame.assign(pair=f"pair {i}") for i in range(5)]
    assert drift.drift_sentences(pd.concat(named)) == ["There is a drift: 5 of 5 pairs."]
    told = drift.drift_sentences(pd.concat(named[:2]))
    assert [said[:8] for said in told] == ["pair 0: ", "pair 1: "]
    assert drift.drift_sentences(None) == drift.drift_sentences(frame[:0]) == []


def test_the_terminal_has_sessions_decoders_and_what_the_study_would_do(few):
    frame = report(few)
    row = dict(frame.iloc[0])
    for measure, at, value, words in (
        ("updates", "immediate", 6200.0, ""),
        ("updates", "tbptt-200-200", 12.0, ""),
        ("registration", "mine", float("nan"), "too few seeds"),
    ):
        frame.loc[len(frame)] = row | {"measure": measure, "at": at, "value": value, "words": words}
    said = drift.report_text(frame)
    assert max(map(len, said.splitlines())) <= 100
    for words in (
        "A: first, B: second (recordings, default)",
        "about: a subject indy, area M1",
        "inputs used: a 40 of 96; b 40 of 96",
        "reads: 1 0.40 [0.35, 0.45] R²; 10 0.60 [0.55, 0.65] R²",
        "decoder refitted on B: 83",
        "adapt to: immediate 6,200; tbptt-200-200 12.00, too few to tell",
        "registration: mine cannot be answered: too few seeds",
    ):
        assert words in " ".join(said.split()), words
