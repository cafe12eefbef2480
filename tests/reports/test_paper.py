"""The paper's numbers are the paper's: every quote and every figure is looked up in its source."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orla.reports.paper import load

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT.parent / "shared" / "paper").glob("*.txt"))


def quotes(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "quote":
                yield value
            elif key == "quotes":
                yield from value
            else:
                yield from quotes(value)
    elif isinstance(node, list):
        for value in node:
            yield from quotes(value)


def printed(quote: str) -> set[float]:
    plain = re.sub(r"\{,\}|\\[,;!]|[{}]", "", quote.replace("--", " "))
    return {float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", plain)}


@pytest.mark.skipif(not SOURCES, reason="the paper's source is not beside the project")
def test_every_quote_stands_in_the_paper():
    source = SOURCES[0].read_text()
    missing = [quote for quote in quotes(load().document) if quote not in source]
    assert not missing
    assert "this sentence is not in it" not in source


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("recoveries", ("recovery_percent", "low_percent", "high_percent")),
        ("gaps", ("gap_pp", "low_pp", "high_pp")),
    ],
)
def test_numbers_are_those_of_their_quotes(section, names):
    for row in load().document[section]:
        for name in names:
            if row.get(name) is None or "_text" in "".join(row):
                continue
            found = {abs(value) for value in printed(row["quote"])}
            close = [value for value in found if round(value, 1) == round(abs(row[name]), 1)]
            assert close, f"{row['quote']!r} does not hold {name} = {row[name]}"


def test_ratio_table_is_its_quotes():
    for row in load().document["ratio_gap"]["rows"]:
        assert {row["update_ratio"], abs(row["gap_pp"])} <= {
            abs(value) for value in printed(row["quote"])
        }


def test_headline_is_consistent():
    headline = load().headline
    gap = headline["recovery_full_percent"] - headline["recovery_immediate_percent"]
    assert gap == pytest.approx(headline["gap_pp"])
    assert abs(headline["gap_pp"]) < headline["delta_star_pp"] < headline["margin_pp"]


def test_denominators_follow_from_benefit_and_gap():
    for row in load().document["denominators"]:
        assert 100 * row["benefit_mse"] / row["gap_pp"] == pytest.approx(row["mse"], abs=0.005)


def test_float64_goes_before_the_pilot():
    paper = load()
    assert paper.recovery("immediate", "adam", "float64", "80-20").value == 41.7
    assert paper.recovery("immediate", "adam", "float32", "80-20").value == 44.9
    sgd = paper.recovery("tbptt-200-200", "sgd", "float64", "80-20")
    assert (sgd.value, sgd.configuration) == (30.9, "pilot-f32")


@pytest.mark.parametrize(
    "condition",
    [
        ("rtrl", "adam", "float64", "80-20"),
        ("immediate-200", "adam", "float64", "80-20"),
        ("immediate", "sgd", "float64", "50-50"),
        ("immediate", "adam", "bfloat16", "80-20"),
    ],
)
def test_no_number_where_the_paper_has_none(condition):
    assert load().recovery(*condition) is None


def test_no_lstm_number_borrowed_from_the_rnn():
    assert load().recovery("immediate", "adam", "float64", "80-20", "lstm") is None
    assert load().gap("adam", "float64", "80-20", "lstm") is None


def test_lstm_numbers_are_the_lstms():
    found = load().recovery("tbptt-200-200", "adafactor", "float64", "80-20", "lstm")
    assert (found.value, found.low, found.high) == (66.4, 63.3, 69.0)
    assert load().recovery("tbptt-200-200", "adafactor", "float64", "80-20").value == 32.9


def test_claims_name_the_registrations_that_exist():
    registered = {path.stem for path in (ROOT / "prereg").glob("*.yaml")}
    assert set(load().registrations) == registered
