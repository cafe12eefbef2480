"""A row is named as the paper names it: optimizer, architecture, task, split, precision."""

import copy
import re

import pytest
from papers_latex import quotes_of

from orla.reports.paper import load

TABLES = load().tables
LABELLED = [name for name in TABLES if "label" in load().document[name]]

# How the paper prints the words of our results.
PRINTED = {
    "optimizer": {
        **{"sgd": "SGD", "adam": "Adam", "lars": "LARS", "adafactor": "Adafactor"},
        **{"rmsprop": "RMSprop", "signsgd": "signSGD", "signsgd-momentum": "momentum"},
        "gradnorm": "Gradient normalization",
    },
    "architecture": {
        **{"rnn": "RNN", "lstm": "LSTM", "retnet": "RetNet", "rwkv": "RWKV", "ctrnn": "CTRNN"},
        **{"slstm": "sLSTM", "gru": "Vanilla GRU"},
    },
    "task": {"sine": "Sine", "lorenz": "Lorenz", "recordings": "BCI", "delayed-sine": "Delayed"},
    "learner": {"immediate": "$d{=}0$ &", "tbptt-50-50": "Full RTRL &"},
}


def named_in(latex: str, names: dict[str, str]) -> set[str]:
    words = {name: rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])" for name, word in names.items()}
    return {name for name, word in words.items() if re.search(word, latex)}


def misnamed(file: dict) -> list[str]:
    """The quotes of a file that name another optimizer, architecture or task than their row."""
    wrong = []
    across = file.get("across", ())
    for entry in file["rows"]:
        quote = " ".join(quotes_of(entry))
        for column, names in PRINTED.items():
            row = (file.get("common", {}) | entry).get(column) or ""
            row = set(row) if isinstance(row, list) else set(row.split(" and "))
            row -= {condition.get(column) for condition in across} | {None, ""}
            told = named_in(quote, names)
            if told and not row <= told:
                wrong.append(f"{quote!r} says {told}, the row {row}")
    cells = file["head"].split(" & ") if "head" in file else ()
    for cell, condition in zip(cells, across if cells else (), strict=True):
        for column in ("optimizer", "architecture", "task"):
            told = named_in(cell, PRINTED[column])
            if told and condition.get(column) not in told:
                wrong.append(f"{cell!r} says {told}, its condition {condition}")
    return wrong


@pytest.mark.parametrize("name", LABELLED)
def test_a_row_is_named_as_its_quote(name):
    assert misnamed(load().document[name]) == []


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("heldout", "optimizer"),
        ("heldout", "learner"),
        ("precision_best", "optimizer"),
        ("lstm_structure", "optimizer"),
        ("delays", "architecture"),
        ("windows", "task"),
    ],
)
def test_two_rows_that_exchange_their_names_are_noticed(name, column):
    file = copy.deepcopy(load().document[name])
    first, last = file["rows"][0], file["rows"][-1]
    first[column], last[column] = last[column], first[column]
    assert len(misnamed(file)) == 2
