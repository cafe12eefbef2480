"""The paper's numbers are the paper's: every quote and every number is looked up in its source."""

import copy
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orla.reports.paper import load

SOURCES = sorted((Path(__file__).parents[4] / "shared" / "paper").glob("*.txt"))
with_source = pytest.mark.skipif(not SOURCES, reason="the paper's source is not beside the project")
TABLES = load().tables
LABELLED = [name for name in TABLES if "label" in load().document[name]]

# Digits that are part of a name.
NAMES = re.compile(
    r"d\{?=\}?0(?![.\d])|\\ni 0|CI of 0|contains 0|top-1|AVX-\d+|50/50|80/20"
    r"|\$?95\\%\$? (?:bootstrap )?CI|\\multicolumn\{\d\}|\\(?:ref|label|cite\w*)\{[^}]*\}|\[\d+pt\]"
)
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)-])[-+])?(?<![A-Za-z_.^\d])(?P<digits>\d+(?:\{,\}\d{3})*(?:\.\d+)?)"
    r"(?:(?P<times>\s*\{?\\times\}?\s*10)?\^\{?(?P<power>-?\d+)\}?)?"
    r"(?P<unit>[kKMB](?![A-Za-z]))?"
)
UNITS = {None: 1, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}


def matches(latex: str) -> Iterator[re.Match]:
    yield from NUMBER.finditer(NAMES.sub(lambda name: " " * len(name[0]), latex))


def printed(latex: str) -> list[float]:
    numbers = []
    for match in matches(latex):
        number = float(match["digits"].replace("{,}", ""))
        if match["power"]:
            power = int(match["power"])
            number = number * 10.0**power if match["times"] else number**power
        numbers.append((-1 if match["sign"] == "-" else 1) * number * UNITS[match["unit"]])
    return numbers


def quotes_of(fields: dict) -> list[str]:
    quote = fields["quote"]
    return quote if isinstance(quote, list) else [quote]


def numbers_in(key: str, value: object) -> list[float]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(key, part)]
    if isinstance(value, str):
        counted = key in ("model", "verdict") or key.endswith("_text")
        return printed(value) if counted else []
    return [float(value)]


def transcribed(fields: dict, columns: int = 0) -> list[float]:
    """The numbers of a row in the order of the printed one: condition by condition."""
    worded = {key.removesuffix("_text") for key in fields if key.endswith("_text")}
    worded = {name for name in worded if printed(fields[f"{name}_text"])}
    keys = [
        key
        for key in fields
        if key not in ("quote", "also", "place")
        and (key.endswith("_text") or key.rpartition("_")[0] not in worded)
    ]
    lists = [key for key in keys if columns and isinstance(fields[key], list)]
    first = keys.index(lists[0]) if lists else len(keys)
    order = [(key, fields[key]) for key in keys[:first]]
    order += [(key, fields[key][column]) for column in range(columns) for key in lists]
    order += [(key, fields[key]) for key in keys[first:] if key not in lists]
    return [number for key, value in order for number in numbers_in(key, value)]


def same(found: list[float], wanted: list[float]) -> bool:
    return len(found) == len(wanted) and all(map(math.isclose, found, wanted))


def misread(file: dict) -> list[str]:
    """The quotes of a file whose numbers are not those of their row."""
    columns = len(file.get("across", ()))
    parts = [(entry, columns) for entry in file["rows"]]
    parts += [(entry["also"], columns) for entry in file["rows"] if "also" in entry]
    return [
        f"{quotes_of(fields)} has {found}, the row {wanted}"
        for fields, across in parts
        for found in [[number for quote in quotes_of(fields) for number in printed(quote)]]
        for wanted in [transcribed(fields, across)]
        if not same(found, wanted)
    ]


def unread(latex: str, file: dict) -> list[str]:
    """The numbers of a piece of LaTeX that stand in no quote of a file."""
    covered = set()
    every = [quote for entry in file["rows"] for quote in quotes_of(entry)]
    for quote in [*every, *file.get("quotes", ()), *([file["head"]] if "head" in file else ())]:
        for place in re.finditer(re.escape(quote), latex):
            covered.update(range(*place.span()))
    return [
        latex[max(match.start() - 20, 0) : match.end() + 5]
        for match in matches(latex)
        if not covered.issuperset(range(*match.span()))
    ]


def every_quote(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("quote", "quotes", "head"):
                yield from value if isinstance(value, list) else [value]
            else:
                yield from every_quote(value)
    elif isinstance(node, list):
        for value in node:
            yield from every_quote(value)


@pytest.fixture(scope="module")
def source() -> str:
    return SOURCES[0].read_text(encoding="utf-8")


def environments(source: str, kind: str) -> dict[str, str]:
    """Tables or figures by label, in their order; one without a label has that of its section."""
    found = {}
    for match in re.finditer(rf"\\begin\{{{kind}\}}.*?\\end\{{{kind}\}}", source, re.DOTALL):
        own = re.search(r"\\label\{(.*?)\}", match[0])
        above = re.findall(r"\\label\{((?:app|sec):.*?)\}", source[: match.start()])
        found[own[1] if own else above[-1]] = match[0]
    return found


def sections(source: str) -> dict[str, str]:
    """The paper's sections by the names that it prints, "Section 3" or "Appendix D"."""
    main, appendix = source.split("\\appendix")
    pieces = {f"Section {n}": text for n, text in enumerate(main.split("\\section{")) if n}
    letters = "ABCDEFGHIJKLMNOPQRS"
    parts = appendix.split("\\section{")[1:]
    assert len(parts) == len(letters)
    return pieces | {
        f"Appendix {letter}": text for letter, text in zip(letters, parts, strict=True)
    }


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
                if isinstance(number, bool) or not isinstance(number, int | float):
                    continue
                if f"{key.rpartition('_')[0]}_text" in row:
                    continue
                other = copy.deepcopy(rows)
                wrong = [*numbers[:at], number * 1.001 + 0.001, *numbers[at + 1 :]]
                other[index][key] = wrong if isinstance(value, list) else wrong[0]
                yield other


@pytest.mark.parametrize("name", LABELLED)
def test_a_changed_number_is_noticed(name):
    file = load().document[name]
    tried = 0
    for rows in changed(file["rows"]):
        tried += 1
        assert len(misread(file | {"rows": rows})) == 1
    assert tried >= len(file["rows"]) - 4  # four architectures have words alone


@pytest.mark.parametrize("name", ["decay_grid", "input_correlation", "precision_best"])
def test_two_columns_exchanged_are_noticed(name):
    file = copy.deepcopy(load().document[name])
    for row in file["rows"]:
        for key, value in row.items():
            if isinstance(value, list) and key != "quote":
                row[key] = [value[1], value[0], *value[2:]]
    assert len(misread(file)) == len(file["rows"])


@pytest.mark.parametrize("name", TABLES)
def test_what_holds_for_every_row_is_quoted(name):
    file = load().document[name]
    quoted = [number for quote in file.get("quotes", ()) for number in printed(quote)]
    common = [n for key, value in file.get("common", {}).items() for n in numbers_in(key, value)]
    assert all(any(math.isclose(number, found) for found in quoted) for number in common)
    across = [
        n for part in file.get("across", ()) for key in part for n in numbers_in(key, part[key])
    ]
    assert same(printed(file.get("head", "")), across)


@pytest.mark.parametrize("name", TABLES)
def test_lists_have_a_value_for_each_condition(name):
    file = load().document[name]
    for row in file["rows"] if "across" in file else ():
        for key, value in [*row.items(), *row.get("also", {}).items()]:
            if isinstance(value, list) and key != "quote":
                assert len(value) == len(file["across"]), row


@pytest.mark.parametrize("name", TABLES)
def test_split_and_precision_are_those_of_the_quote(name):
    file = load().document[name]
    for entry in file["rows"]:
        row = file.get("common", {}) | entry
        quote = " ".join(quotes_of(entry))
        for split in re.findall(r"50/50|80/20", quote):
            assert row["split"] == split.replace("/", "-")
        for bits in re.findall(r"\((?:f|float)(32|64)", quote):
            assert row["precision"] == f"float{bits}"


# How the paper prints the words of our results.
PRINTED = {
    "optimizer": {
        "sgd": "SGD",
        "adam": "Adam",
        "lars": "LARS",
        "adafactor": "Adafactor",
        "rmsprop": "RMSprop",
        "signsgd": "signSGD",
        "signsgd-momentum": "momentum",
        "gradnorm": "Gradient normalization",
    },
    "architecture": {
        "rnn": "RNN",
        "lstm": "LSTM",
        "retnet": "RetNet",
        "rwkv": "RWKV",
        "ctrnn": "CTRNN",
        "slstm": "sLSTM",
        "gru": "Vanilla GRU",
    },
    "task": {"sine": "Sine", "lorenz": "Lorenz", "recordings": "BCI", "delayed-sine": "Delayed"},
    "learner": {"immediate": "$d{=}0$ &", "tbptt-50-50": "Full RTRL &"},
}


def misnamed(file: dict) -> list[str]:
    """The quotes of a file that name another optimizer, architecture or task than their row."""
    wrong = []
    for entry in file["rows"]:
        quote = " ".join(quotes_of(entry))
        for column, names in PRINTED.items():
            told = {
                name
                for name, word in names.items()
                if re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", quote)
            }
            row = file.get("common", {}) | entry
            rows = row.get(column) or ""
            rows = set(rows) if isinstance(rows, list) else set(rows.split(" and "))
            rows -= {condition.get(column) for condition in file.get("across", ())} | {None, ""}
            if told and not rows <= told:
                wrong.append(f"{quote!r} says {told}, the row {rows}")
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


@with_source
def test_every_quote_stands_in_the_paper(source):
    assert [quote for quote in every_quote(load().document) if quote not in source] == []
    assert "this sentence is not in it" not in source


@with_source
def test_every_table_and_figure_of_the_paper_has_a_file(source):
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
def test_a_tables_quote_is_of_one_row_of_it(name, source):
    latex = printed_part(source, name)
    for entry in load().document[name]["rows"]:
        if "Table" in str(entry.get("place", "Table")) and "fig:" not in name:
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
