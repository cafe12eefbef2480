"""The paper's numbers are the paper's: every quote and every number is looked up in its source."""

import copy
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from papers_latex import (
    environments,
    every_quote,
    misread,
    numbers_in,
    printed,
    quotes_of,
    same,
    sections,
    unread,
)

from orla.reports.paper import load

SOURCES = sorted((Path(__file__).parents[4] / "shared" / "paper").glob("*.txt"))
with_source = pytest.mark.skipif(not SOURCES, reason="the paper's source is not beside the project")
TABLES = load().tables
LABELLED = [name for name in TABLES if "label" in load().document[name]]


@pytest.fixture(scope="module")
def source() -> str:
    return SOURCES[0].read_text(encoding="utf-8")


def printed_part(source: str, name: str) -> str:
    """What of a table or figure is transcribed whole: its rows with their head, or its caption."""
    label = load().document[name]["label"]
    if label.startswith("fig:"):
        return environments(source, "figure")[label].split("\\caption")[1]
    table = environments(source, "table")[label]
    return re.search(r"\\toprule(.*)\\bottomrule", table, re.DOTALL)[1]


@pytest.mark.parametrize(
    ("latex", "numbers"),
    [
        (r"$3{\times}10^{-4}$ & $\mathbf{44.9}\;[41.6, 48.5]$", [3e-4, 44.9, 41.6, 48.5]),
        (r"$-0.001$ $[-0.013, +0.012]$", [-0.001, -0.013, 0.012]),
        (r"$12$--$13\%$, 5--19$\times$, $50{,}000\times$", [12, 13, 5, 19, 50000]),
        (r"$1\times 10^{-3}$, $10^{-3}$, $\sim 10^4$", [1e-3, 1e-3, 1e4]),
        (r"Mamba-1.4B & 1.4B & GPT-2 & 124M & $\{5k, 8k\}$", [1.4e9, 1.4e9, 2, 124e6, 5000, 8000]),
        (r"$d{=}0$, $d{=}0.1$, f64, AVX-2, 50/50, $\text{top1}$, $u_1$, $95\%$ CI", [0.1]),
        (r"$t{+}50$ & $12.6$\,MB", [50, 12.6]),
    ],
)
def test_numbers_are_read_from_latex(latex, numbers):
    assert same(printed(latex), numbers)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_its_quote(name):
    assert misread(load().document[name]) == []


def changed(rows: list[dict]) -> Iterator[list[dict]]:
    """The rows with one number changed, for each number in turn."""
    for index, row in enumerate(rows):
        for key, value in row.items():
            numbers = list(value) if isinstance(value, list) else [value]
            for at, number in enumerate(numbers):
                worded = f"{key.rpartition('_')[0]}_text" in row
                if worded or isinstance(number, bool) or not isinstance(number, int | float):
                    continue
                other = copy.deepcopy(rows)
                wrong = [*numbers[:at], number * 1.001 + 0.001, *numbers[at + 1 :]]
                other[index][key] = wrong if isinstance(value, list) else wrong[0]
                yield other


@pytest.mark.parametrize("name", LABELLED)
def test_a_changed_number_is_noticed(name):
    file = load().document[name]
    tried = [len(misread(file | {"rows": rows})) for rows in changed(file["rows"])]
    assert set(tried) == {1}
    assert len(tried) >= len(file["rows"]) - 4  # four architectures have words alone


@pytest.mark.parametrize("name", TABLES)
def test_values_common_to_all_rows_stand_in_a_quote_of_the_paper(name):
    file = load().document[name]
    quoted = [number for quote in file.get("quotes", ()) for number in printed(quote)]
    common = [n for key, value in file.get("common", {}).items() for n in numbers_in(key, value)]
    assert all(any(math.isclose(number, found) for found in quoted) for number in common)
    parts = (item for part in file.get("across", ()) for item in part.items())
    across = [number for item in parts for number in numbers_in(*item)]
    assert same(printed(file.get("head", "")), across)


@with_source
def test_every_quote_stands_in_the_paper(source):
    assert [quote for quote in every_quote(load().document) if quote not in source] == []
    assert "this sentence is not in it" not in source


@with_source
def test_every_table_and_figure_of_the_paper_is_transcribed_with_its_number(source):
    placed = {load().document[name]["label"]: load().document[name]["place"] for name in LABELLED}
    wanted = {}
    for kind in ("table", "figure"):
        for number, label in enumerate(environments(source, kind), 1):
            wanted[label] = f"{kind.capitalize()} {number} ({label})"
    assert placed == wanted
    assert len(wanted) == 23


@with_source
@pytest.mark.parametrize("name", LABELLED)
def test_every_number_of_the_table_is_transcribed(name, source):
    latex, file = printed_part(source, name), load().document[name]
    assert unread(latex, file) == []
    for left_out in range(len(file["rows"])):
        rows = file["rows"][:left_out] + file["rows"][left_out + 1 :]
        row = file["rows"][left_out]
        alike = any(quotes_of(other) == quotes_of(row) for other in rows)
        if all(quote in latex for quote in quotes_of(row)) and printed(quotes_of(row)[-1]):
            assert alike or unread(latex, file | {"rows": rows})


@with_source
@pytest.mark.parametrize("name", LABELLED)
def test_each_quote_of_a_table_occurs_once_in_its_source(name, source):
    latex = printed_part(source, name)
    for entry in load().document[name]["rows"]:
        place = str(entry.get("place", load().document[name]["place"]))
        if "Table" in place or "Figure" in place:  # else it is of the text beside the table
            assert [latex.count(quote) for quote in quotes_of(entry)] == [1] * len(quotes_of(entry))


@with_source
def test_a_number_of_the_text_stands_in_its_section(source):
    parts = sections(source)
    named = [
        (entry["place"], quote)
        for name in TABLES
        for entry in load().document[name]["rows"]
        if str(entry.get("place")) in parts
        for quote in quotes_of(entry)
    ]
    assert len(named) > 50
    assert [(place, quote) for place, quote in named if quote not in parts[place]] == []
